// The requests on one Lease. Use an API client that serves nothing else.
import type { ApiServer } from "./api-server.ts";
import type { LeaseApi } from "./lease.ts";
import type { ObjectAddress, ResourceType } from "./resource-path.ts";
import { createObject, getObject, replaceObject } from "./verbs.ts";

const leases: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases", namespaced: true };

/** `address` names the Lease; its namespace is required. */
export function leaseApi(api: ApiServer, address: ObjectAddress): LeaseApi {
  return {
    get: (signal) => getObject(api, leases, address, { signal }),
    create: (body, signal) => createObject(api, leases, address.namespace, body, { signal }),
    replace: (body, signal) => replaceObject(api, leases, address, body, { signal }),
  };
}
