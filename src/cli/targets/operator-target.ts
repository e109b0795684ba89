// The target of the page that the operator serves: objects come from its watches, single objects are read with its permissions,
// and WAFs are called in its lanes.
import type { OperatorSight } from "../../app/operator-runtime.ts";
import { realClock } from "../../async/clock.ts";
import { clusterTarget } from "./cluster-target.ts";
import { seenObjects } from "./see-cluster.ts";
import type { Target } from "./target.ts";

export function openOperator(sight: OperatorSight): Target {
  const { api, redactor, namespace, callWaf } = sight;
  return clusterTarget({
    api,
    redactor,
    namespace: namespace ?? "",
    ruleNamespace: undefined,
    call: callWaf,
    keyOf: ({ key }) => (key.state === "Present" ? { ok: true, value: key.key } : { ok: false, problem: key.problem }),
    see: async () => {
      const missing = sight.notReadyBecause();
      return {
        ...seenObjects({
          WafInstance: sight.objects("WafInstance"),
          WafIpRule: sight.objects("WafIpRule"),
          WafOrigin: sight.objects("WafOrigin"),
          WafAutoBlock: sight.objects("WafAutoBlock"),
          WafCacheClear: sight.objects("WafCacheClear"),
          WafFeed: sight.objects("WafFeed"),
        }),
        atMs: realClock.nowMs(),
        where: namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`,
        refused: undefined,
        gaps: missing === undefined ? [] : [missing],
      };
    },
    // The operator continues to use the API client.
    close: () => undefined,
  });
}
