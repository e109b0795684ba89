// The requests on Events.
import type { ApiServer } from "./api-server.ts";
import type { EventApi } from "./event-recorder.ts";
import type { ResourceType } from "./resource-path.ts";
import { createObject, mergePatchObject } from "./verbs.ts";

const events: ResourceType = { group: "", version: "v1", plural: "events", namespaced: true };

export function eventApi(api: ApiServer): EventApi {
  return {
    create: (namespace, body, signal) => createObject(api, events, namespace, body, { signal }),
    patch: (namespace, name, body, signal) => mergePatchObject(api, events, { namespace, name }, body, { signal }),
  };
}
