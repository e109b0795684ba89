// The requests on the status of objects.
import type { ApiServer } from "./api-server.ts";
import type { StatusApi } from "./status-writer.ts";
import { getObject, mergePatchObject } from "./verbs.ts";

const requestTimeoutMs = 10_000;

export function statusApi(api: ApiServer): StatusApi {
  return {
    get: (type, address) => getObject(api, type, address, { timeoutMs: requestTimeoutMs }),
    patchStatus: (type, address, body) =>
      mergePatchObject(api, type, address, body, { timeoutMs: requestTimeoutMs, subresource: "status" }),
  };
}
