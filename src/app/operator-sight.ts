// What a page may see of the operator: the objects of its watches, and its WAF clients for reading. Costs nothing until it is used.
import type { ApiServer } from "../kube/api-server.ts";
import type { Redactor } from "../model/redactor.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { type BaseUrlPolicy, baseUrlObjection } from "./base-url-policy.ts";
import type { CallWaf } from "./call-waf.ts";
import type { Leadership } from "./leadership.ts";
import type { SelectedInstances } from "./selected-instances.ts";
import type { Stopping } from "./stopping.ts";
import type { WafClients } from "./waf-clients.ts";
import { writePermission } from "./write-permission.ts";

export interface OperatorSight {
  readonly api: ApiServer;
  /** The only managed namespace; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly redactor: Redactor;
  readonly objects: ClusterSource["objects"];
  /** Why the watches are incomplete, in a sentence; undefined if they are complete. */
  readonly notReadyBecause: () => string | undefined;
  /** Calls the WAF in the lane of the key, like every other call of the operator. */
  readonly callWaf: CallWaf;
}

/** Serves a page. Returns a function that stops it. Never rejects. */
export type ServePage = (sight: OperatorSight) => Promise<() => Promise<void>>;

export interface SightParts {
  readonly api: ApiServer;
  readonly namespace: string | undefined;
  readonly redactor: Redactor;
  readonly baseUrls: BaseUrlPolicy;
  readonly leadership: Leadership;
  readonly stopping: Stopping;
  readonly source: ClusterSource;
  readonly wafClients: WafClients;
  readonly selected: SelectedInstances;
}

export function operatorSight(parts: SightParts): OperatorSight {
  const { api, namespace, redactor, source } = parts;
  return {
    api,
    namespace,
    redactor,
    objects: (kind) => source.objects(kind),
    notReadyBecause: () => source.notReadyBecause(),
    callWaf: callsOf(parts),
  };
}

function callsOf({ baseUrls, leadership, stopping, wafClients, selected }: SightParts): CallWaf {
  return async (instance, key, work) => {
    const objection = baseUrlObjection(baseUrls, instance.baseUrl);
    if (objection !== undefined) return { ok: false, problem: objection };
    // The API accepts one call at a time, and only the lane of one process knows of its calls.
    if (!selected.has(instance.meta)) {
      return { ok: false, problem: "Another operator works on this instance, and only that operator calls the WAF." };
    }
    if (!writePermission(leadership, stopping).permitted) {
      return { ok: false, problem: "This replica is not the leader, and only the leader calls the WAF." };
    }
    return { ok: true, value: await work(wafClients.open(instance, key)) };
  };
}
