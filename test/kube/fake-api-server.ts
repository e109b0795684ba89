// API servers in memory, for what wafsync writes, and an object with a status and finalizers.
import {
  type ApiFault,
  type ApiFaultCode,
  type ApiResult,
  localFault,
  type ApiRequest,
  type ApiServer,
} from "../../src/kube/api-server.ts";
import { isRecord, type KubeObjectMeta } from "../../src/kube/kube-object.ts";
import type { StatusObject } from "../../src/kube/status-writer.ts";
import type { JsonPatch } from "../../src/kube/verbs.ts";

/** An API server without streams. */
export function fakeApi(answer: (request: ApiRequest) => Promise<ApiResult<unknown>>): ApiServer {
  return {
    request: async <T>(request: ApiRequest) => (await answer(request)) as ApiResult<T>,
    openStream: async () => failed("Unavailable"),
    close: () => undefined,
  };
}

export function failed(code: ApiFaultCode, more: Partial<ApiFault> = {}): ApiResult<never> {
  return { ok: false, fault: { ...localFault(code, code), ...more } };
}

export function done(value: unknown): ApiResult<unknown> {
  return { ok: true, status: 200, value };
}

/** The server never responds; the caller gives up. */
export function silence(signal: AbortSignal | undefined): Promise<ApiResult<unknown>> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve(failed("Aborted"));
    signal?.addEventListener("abort", () => resolve(failed("Aborted")), { once: true });
  });
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
}

/** One object with the API server's rules for merge patches of its status and JSON Patches of its finalizers. */
export class FakeObject {
  readonly api = fakeApi(async ({ method, body, contentType }) => {
    if (method === "GET") return this.#get();
    this.patches += 1;
    this.before.shift()?.();
    if (this.stored === undefined) return failed("NotFound");
    const isMerge = contentType === "application/merge-patch+json";
    return isMerge ? this.#patchStatus(this.stored, body) : this.#patchFinalizers(this.stored, body as JsonPatch);
  });
  stored: StatusObject | undefined = {
    apiVersion: "test.dev/v1",
    kind: "Widget",
    metadata: { name: "w", namespace: "default", uid: "u1", resourceVersion: "10", generation: 1 },
  };
  reads = 0;
  patches = 0;
  /** Faults for the next patches, before they are processed. */
  readonly before: (() => void)[] = [];
  /** The values that the server adds to the status. */
  defaults: Readonly<Record<string, unknown>> = {};

  get object(): StatusObject {
    if (this.stored === undefined) throw new Error("there is no object");
    return this.stored;
  }

  /** Changes the object as another writer. */
  edit(metadata: Partial<KubeObjectMeta>, status: unknown = this.object.status): void {
    const resourceVersion = String(Number(this.object.metadata.resourceVersion) + 1);
    this.stored = { ...this.object, metadata: { ...this.object.metadata, resourceVersion, ...metadata }, status };
  }

  #get(): ApiResult<unknown> {
    this.reads += 1;
    return this.stored === undefined ? failed("NotFound") : done(this.stored);
  }

  #patchStatus(stored: StatusObject, body: unknown): ApiResult<unknown> {
    const { metadata, status } = body as { metadata: { resourceVersion: string }; status: unknown };
    if (metadata.resourceVersion !== stored.metadata.resourceVersion) return failed("Conflict");
    this.edit({}, { ...this.defaults, ...(merge(stored.status, status) as object) });
    return done(this.stored);
  }

  #patchFinalizers({ metadata: { uid, finalizers = [], deletionTimestamp } }: StatusObject, operations: JsonPatch) {
    let list = [...finalizers];
    for (const { op, path, value } of operations) {
      const current = path === "/metadata/uid" ? uid : list.length === 0 ? null : list;
      if (op === "test" && JSON.stringify(current) !== JSON.stringify(value)) return failed("Invalid");
      if (op !== "add") continue;
      const next = value as string[];
      if (deletionTimestamp !== undefined && next.length > list.length) return failed("Invalid");
      list = next;
    }
    this.edit({ finalizers: list });
    return done(this.object);
  }
}

export interface StoredEvent {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly involvedObject: { readonly name: string; readonly namespace?: string };
  readonly reason: string;
  readonly message: string;
  readonly count: number;
}
