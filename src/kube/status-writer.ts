// Writes the status of objects with a merge patch that contains the resourceVersion that was read, and only if it differs. The
// last written status is kept until the cache shows it, and longer if the server added defaults to it, so that neither a
// stale cache nor such a default causes a second write: writing a status can never keep a reconcile loop going.
import { LruMap } from "../async/lru-map.ts";
import { Turns } from "../async/turns.ts";
import type { ApiFault, ApiServer } from "./api-server.ts";
import { isOlderVersion, isRecord, type KubeObject } from "./kube-object.ts";
import type { ResourceType } from "./resource-path.ts";
import { changeObject, mergePatchObject } from "./verbs.ts";

type Status = Readonly<Record<string, unknown>>;

export interface StatusObject extends KubeObject {
  readonly status?: unknown;
}

export interface StatusWrite<T extends StatusObject> {
  readonly type: ResourceType;
  /** As cached. */
  readonly object: T;
  /**
   * Computes the whole status from the current object; called again with a newer version after a conflict. Undefined leaves
   * the object unchanged. No value in it is null.
   */
  readonly compute: (object: T) => Status | undefined;
}

export type StatusResult =
  | { readonly kind: "Written" }
  | { readonly kind: "Unchanged" }
  /** The object no longer exists, or another one has its name. */
  | { readonly kind: "Gone" }
  | { readonly kind: "Failed"; readonly fault: ApiFault };

const timeoutMs = 10_000;
const rememberedMax = 20_000;

interface Memory {
  /** The version that the server returned last. */
  readonly resourceVersion: string;
  readonly status: unknown;
  /** The status that was sent, if the server added something to it. */
  readonly sent: Status | undefined;
}

export class StatusWriter {
  readonly #api: ApiServer;
  /** By UID: an object that was deleted and created again is another one. */
  readonly #memory = new LruMap<string, Memory>(rememberedMax);
  readonly #turns = new LruMap<string, Turns>(rememberedMax);

  constructor(api: ApiServer) {
    this.#api = api;
  }

  /** Writes what `compute` returns. Writes of one object follow one another. Never rejects, unless `compute` throws. */
  async write<T extends StatusObject>(write: StatusWrite<T>): Promise<StatusResult> {
    const { uid } = write.object.metadata;
    const turns = this.#turns.get(uid) ?? new Turns();
    this.#turns.set(uid, turns);
    return await turns.run(async () => await this.#bring(write));
  }

  /** The object, with the status that the server returned last if the object is older. What the object shows is forgotten. */
  newest<T extends StatusObject>(cached: T): T {
    const { uid } = cached.metadata;
    const memory = this.#memory.get(uid);
    if (memory === undefined) return cached;
    const { resourceVersion, status, sent } = memory;
    if (isOlderVersion(cached.metadata.resourceVersion, resourceVersion)) {
      return { ...cached, metadata: { ...cached.metadata, resourceVersion }, status };
    }
    if (sent === undefined) this.#memory.delete(uid);
    return cached;
  }

  /** Call this when the server has returned the object: the cache may be older. */
  returned({ metadata: { uid, resourceVersion }, status }: StatusObject): void {
    const memory = this.#memory.get(uid);
    if (memory !== undefined && isOlderVersion(resourceVersion, memory.resourceVersion)) return;
    this.#memory.set(uid, { resourceVersion, status, sent: memory?.sent });
  }

  async #bring<T extends StatusObject>({ type, object: cached, compute }: StatusWrite<T>): Promise<StatusResult> {
    const { uid } = cached.metadata;
    let sent: Status = {};
    const change = (object: T) => {
      const desired = compute(object);
      if (desired === undefined || this.#isSettled(object, desired)) return { kind: "Unchanged" } as const;
      sent = desired;
      const { resourceVersion } = object.metadata;
      const body = { metadata: { resourceVersion }, status: statusPatch(object.status, desired) };
      const options = { timeoutMs, subresource: "status" };
      return async () => await mergePatchObject<T>(this.#api, type, cached.metadata, body, options);
    };
    const onRead = (object: T): void => this.returned(object);
    const writing = { type, object: this.newest(cached), change, conflicts: ["Conflict"], onRead } as const;
    const result = await changeObject<T, { readonly kind: "Unchanged" }>(this.#api, writing, timeoutMs);
    if (result.kind !== "Done") return result;
    const { metadata, status } = result.object;
    const isAsSent = sameJson(status, sent);
    this.#memory.set(uid, { resourceVersion: metadata.resourceVersion, status, sent: isAsSent ? undefined : sent });
    return { kind: "Written" };
  }

  #isSettled(object: StatusObject, desired: Status): boolean {
    if (sameJson(object.status ?? {}, desired)) return true;
    const memory = this.#memory.get(object.metadata.uid);
    return memory?.sent !== undefined && sameJson(memory.sent, desired) && sameJson(memory.status, object.status);
  }
}

/** Ignores the order of keys and keys with the value undefined. The order of lists matters. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  }
  if (!isRecord(left) || !isRecord(right)) return false;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  for (const key of keys) if (!sameJson(left[key], right[key])) return false;
  return true;
}

/**
 * The merge patch (RFC 7386) that turns `current` into `desired`: all of `desired`, and null for every field to remove.
 * Values of `desired` are never null, because null cannot be stored by a merge patch.
 */
export function statusPatch(current: unknown, desired: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  const old = isRecord(current) ? current : {};
  for (const key of Object.keys(old)) if (desired[key] === undefined) patch[key] = null;
  for (const [key, value] of Object.entries(desired)) {
    if (value === undefined) continue;
    patch[key] = isRecord(value) ? statusPatch(old[key], value) : value;
  }
  return patch;
}
