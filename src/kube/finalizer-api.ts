// The requests on finalizers.
import type { ApiServer } from "./api-server.ts";
import type { FinalizerApi } from "./finalizer.ts";
import { getObject, jsonPatchObject } from "./verbs.ts";

const requestTimeoutMs = 10_000;

export function finalizerApi(api: ApiServer): FinalizerApi {
  return {
    get: (type, address) => getObject(api, type, address, { timeoutMs: requestTimeoutMs }),
    jsonPatch: (type, address, operations) =>
      jsonPatchObject(api, type, address, operations, { timeoutMs: requestTimeoutMs }),
  };
}
