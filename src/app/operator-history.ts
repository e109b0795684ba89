// Keeps the operator's history in WafRecords, for people.
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { HistoryRecords } from "../source/cluster/history-records.ts";
import { recordHolderOf } from "../source/cluster/record-object.ts";
import type { Logger } from "../telemetry/log.ts";
import { HistoryKeeper } from "./history-keeper.ts";
import type { Leadership } from "./leadership.ts";

interface HistoryParts {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly leadership: Pick<Leadership, "mayRecord">;
  readonly source: Pick<ClusterSource, "objectOf">;
  readonly log: Logger;
}

export function operatorHistory({ api, clock, leadership, source, log }: HistoryParts): HistoryKeeper {
  const records = new HistoryRecords({
    api,
    holderOf: (instance) => recordHolderOf(source.objectOf({ kind: "WafInstance", ...instance })),
    // Events from before the shutdown must still be recorded.
    mayWrite: () => leadership.mayRecord(),
    nowMs: () => clock.nowMs(),
  });
  return new HistoryKeeper(records, clock, (problem) => log.warn("could not write history", { problem }));
}
