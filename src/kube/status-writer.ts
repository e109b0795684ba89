// Writes the status of objects with a merge patch that contains the resourceVersion that was read, and only if it differs. The
// last written status is kept until the cache shows it, and longer if the server added defaults to it, so that neither a
// stale cache nor such a default causes a second write: writing a status can never keep a reconcile loop going.
import type { Clock } from "../async/clock.ts";
import { LruMap } from "../async/lru-map.ts";
import type { ApiFault } from "./api-result.ts";
import type { ApiServer } from "./api-server.ts";
import type { KubeObject } from "./kube-object.ts";
import { isRecord } from "./kube-object.ts";
import type { ObjectAddress, ResourceType } from "./resource-path.ts";
import { getObject, mergePatchObject } from "./verbs.ts";
import { isOlderVersion } from "./kube-object.ts";

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
  readonly compute: (object: T) => Readonly<Record<string, unknown>> | undefined;
  /** Only progress figures changed: the write is omitted if the last such write of the object is recent. */
  readonly progress?: boolean;
}

/** `Postponed`: progress that was not written, because newer figures will follow. */
export type StatusResult =
  | { readonly kind: "Written" }
  | { readonly kind: "Unchanged" }
  | { readonly kind: "Postponed" }
  /** The object no longer exists, or another one has its name. */
  | { readonly kind: "Gone" }
  | { readonly kind: "Failed"; readonly fault: ApiFault };

export const progressIntervalMsDefault = 2_000;
const requestTimeoutMs = 10_000;
const rememberedMax = 20_000;
const conflictsMax = 4;

interface Memory {
  /** The version that the server returned last. */
  readonly resourceVersion: string;
  readonly status: unknown;
  /** The status that was sent, if the server added something to it. */
  readonly sent: Readonly<Record<string, unknown>> | undefined;
  readonly progressAtMs: number | undefined;
}

export class StatusWriter {
  readonly #api: ApiServer;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #progressIntervalMs: number;
  /** By UID: an object that was deleted and created again is another one. */
  readonly #memory = new LruMap<string, Memory>(rememberedMax);
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(options: {
    readonly api: ApiServer;
    readonly clock: Pick<Clock, "monotonicMs">;
    readonly progressIntervalMs?: number;
  }) {
    this.#api = options.api;
    this.#clock = options.clock;
    this.#progressIntervalMs = options.progressIntervalMs ?? progressIntervalMsDefault;
  }

  /** Writes what `compute` returns. Writes of one object follow one another. Never rejects, unless `compute` throws. */
  async write<T extends StatusObject>(write: StatusWrite<T>): Promise<StatusResult> {
    const { uid } = write.object.metadata;
    const before = this.#underWay.get(uid) ?? Promise.resolve();
    const writing = before.catch(() => undefined).then(() => this.#bring(write));
    this.#underWay.set(uid, writing);
    try {
      return await writing;
    } finally {
      if (this.#underWay.get(uid) === writing) this.#underWay.delete(uid);
    }
  }

  /** The object, with the status that the server returned last if the object is older. */
  newest<T extends StatusObject>(cached: T): T {
    const memory = this.#memory.get(cached.metadata.uid);
    if (memory === undefined) return cached;
    const { resourceVersion, status } = memory;
    if (!isOlderVersion(cached.metadata.resourceVersion, resourceVersion)) return cached;
    return { ...cached, metadata: { ...cached.metadata, resourceVersion }, status };
  }

  /** Call this when the server has returned the object: the cache may be older. */
  returned({ metadata: { uid, resourceVersion }, status }: StatusObject): void {
    const memory = this.#memory.get(uid);
    if (memory !== undefined && isOlderVersion(resourceVersion, memory.resourceVersion)) return;
    this.#memory.set(uid, { resourceVersion, status, sent: memory?.sent, progressAtMs: memory?.progressAtMs });
  }

  /** Call this after the cache has received a version of the object: the record of older versions is then unnecessary. */
  seen({ metadata: { uid, resourceVersion } }: KubeObject): void {
    const memory = this.#memory.get(uid);
    if (memory === undefined || isOlderVersion(resourceVersion, memory.resourceVersion)) return;
    if (memory.sent === undefined && memory.progressAtMs === undefined) this.#memory.delete(uid);
  }

  /** Call this after the object was deleted. */
  forget(uid: string): void {
    this.#memory.delete(uid);
  }

  async #bring<T extends StatusObject>(write: StatusWrite<T>): Promise<StatusResult> {
    const { type } = write;
    const { uid } = write.object.metadata;
    const address = addressOf(write.object);
    let object = this.newest(write.object);
    for (let conflicts = 0; ; conflicts += 1) {
      const desired = write.compute(object);
      if (desired === undefined || this.#isSettled(object, desired)) return { kind: "Unchanged" };
      if (write.progress === true && this.#isTooSoon(uid)) return { kind: "Postponed" };
      const body = {
        metadata: { resourceVersion: object.metadata.resourceVersion },
        status: statusPatch(object.status, desired),
      };
      const patched = await mergePatchObject<StatusObject>(this.#api, type, address, body, {
        timeoutMs: requestTimeoutMs,
        subresource: "status",
      });
      if (patched.ok) {
        this.#remember(patched.value, desired, write.progress === true);
        return { kind: "Written" };
      }
      if (patched.fault.code === "NotFound") return this.#gone(uid);
      if (patched.fault.code !== "Conflict" || conflicts >= conflictsMax)
        return { kind: "Failed", fault: patched.fault };
      const read = await getObject<StatusObject>(this.#api, type, address, { timeoutMs: requestTimeoutMs });
      if (!read.ok) return read.fault.code === "NotFound" ? this.#gone(uid) : { kind: "Failed", fault: read.fault };
      if (read.value.metadata.uid !== uid) return this.#gone(uid);
      this.returned(read.value);
      object = read.value as T;
    }
  }

  #isSettled(object: StatusObject, desired: Readonly<Record<string, unknown>>): boolean {
    if (sameJson(object.status ?? {}, desired)) return true;
    const memory = this.#memory.get(object.metadata.uid);
    return memory?.sent !== undefined && sameJson(memory.sent, desired) && sameJson(memory.status, object.status);
  }

  #isTooSoon(uid: string): boolean {
    const atMs = this.#memory.get(uid)?.progressAtMs;
    return atMs !== undefined && this.#clock.monotonicMs() - atMs < this.#progressIntervalMs;
  }

  #remember(stored: StatusObject, desired: Readonly<Record<string, unknown>>, progress: boolean): void {
    const { uid, resourceVersion } = stored.metadata;
    const progressAtMs = progress ? this.#clock.monotonicMs() : this.#memory.get(uid)?.progressAtMs;
    const sent = sameJson(stored.status, desired) ? undefined : desired;
    this.#memory.set(uid, { resourceVersion, status: stored.status, sent, progressAtMs });
  }

  #gone(uid: string): StatusResult {
    this.forget(uid);
    return { kind: "Gone" };
  }
}

function addressOf({ metadata: { namespace, name } }: KubeObject): ObjectAddress {
  return namespace === undefined ? { name } : { namespace, name };
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
