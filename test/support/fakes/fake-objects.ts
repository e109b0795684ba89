// One object with the API server's rules for merge patches of its status and JSON Patches of its finalizers.
import { localFault } from "../../../src/kube/api-result.ts";
import type { ApiFaultCode, ApiResult } from "../../../src/kube/api-result.ts";
import type { FinalizerApi } from "../../../src/kube/finalizer.ts";
import type { KubeObjectMeta } from "../../../src/kube/kube-object.ts";
import { isRecord } from "../../../src/kube/kube-object.ts";
import type { StatusApi, StatusObject } from "../../../src/kube/status-writer.ts";
import type { JsonPatch } from "../../../src/kube/verbs.ts";

function failed(code: ApiFaultCode): ApiResult<never> {
  return { ok: false, fault: localFault(code, code) };
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

export class FakeObject implements StatusApi, FinalizerApi {
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

  async get(): Promise<ApiResult<StatusObject>> {
    this.reads += 1;
    return this.stored === undefined ? failed("NotFound") : { ok: true, status: 200, value: this.stored };
  }

  async patchStatus(_type: unknown, _address: unknown, body: object): Promise<ApiResult<StatusObject>> {
    this.patches += 1;
    this.before.shift()?.();
    if (this.stored === undefined) return failed("NotFound");
    const { metadata, status } = body as { metadata: { resourceVersion: string }; status: unknown };
    if (metadata.resourceVersion !== this.stored.metadata.resourceVersion) return failed("Conflict");
    this.edit({}, { ...this.defaults, ...(merge(this.stored.status, status) as object) });
    return { ok: true, status: 200, value: this.stored };
  }

  async jsonPatch(_type: unknown, _address: unknown, operations: JsonPatch): Promise<ApiResult<StatusObject>> {
    this.patches += 1;
    this.before.shift()?.();
    if (this.stored === undefined) return failed("NotFound");
    const { uid, finalizers = [], deletionTimestamp } = this.stored.metadata;
    let list = [...finalizers];
    for (const { op, path, value } of operations) {
      const isList = path === "/metadata/finalizers";
      const current = path === "/metadata/uid" ? uid : isList && list.length === 0 ? null : list;
      if (op === "test" && JSON.stringify(current) !== JSON.stringify(value)) return failed("Invalid");
      if (op === "add" && deletionTimestamp !== undefined) return failed("Invalid");
      if (op === "add") list = isList ? [...(value as string[])] : [...list, value as string];
      if (op === "remove") list.splice(Number(path.split("/").at(-1)), 1);
    }
    this.edit({ finalizers: list });
    return { ok: true, status: 200, value: this.object };
  }
}
