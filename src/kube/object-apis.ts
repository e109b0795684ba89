// The API server requests for leases, events, statuses and finalizers, over an API client.
import type { ApiServer } from "./api-server.ts";
import type { EventApi } from "./event-recorder.ts";
import type { FinalizerApi } from "./finalizer.ts";
import type { LeaseApi } from "./lease.ts";
import type { ObjectAddress, ResourceType } from "./resource-path.ts";
import type { StatusApi } from "./status-writer.ts";
import { createObject, getObject, jsonPatchObject, mergePatchObject, replaceObject } from "./verbs.ts";

const leases: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases", namespaced: true };
const events: ResourceType = { group: "", version: "v1", plural: "events", namespaced: true };
const timeoutMs = 10_000;

/** `address` names the Lease; its namespace is required. The client should serve no other requests. */
export function leaseApi(api: ApiServer, address: ObjectAddress): LeaseApi {
  return {
    get: (signal) => getObject(api, leases, address, { signal }),
    create: (body, signal) => createObject(api, leases, address.namespace, body, { signal }),
    replace: (body, signal) => replaceObject(api, leases, address, body, { signal }),
  };
}

export function eventApi(api: ApiServer): EventApi {
  return {
    create: (namespace, body, signal) => createObject(api, events, namespace, body, { signal }),
    patch: (namespace, name, body, signal) => mergePatchObject(api, events, { namespace, name }, body, { signal }),
  };
}

export function statusApi(api: ApiServer): StatusApi {
  return {
    get: (type, address) => getObject(api, type, address, { timeoutMs }),
    patchStatus: (type, address, body) =>
      mergePatchObject(api, type, address, body, { timeoutMs, subresource: "status" }),
  };
}

export function finalizerApi(api: ApiServer): FinalizerApi {
  return {
    get: (type, address) => getObject(api, type, address, { timeoutMs }),
    jsonPatch: (type, address, operations) => jsonPatchObject(api, type, address, operations, { timeoutMs }),
  };
}
