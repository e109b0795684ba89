// The reasons that report whether the logs are judged for a WafAutoBlock, and whether it lists all clients that reach the threshold.
import { type ConditionFact, noAction } from "./condition-fact.ts";

export const logsJudgedFact = {
  kinds: ["WafAutoBlock"],
  polarity: "NormalTrue",
  meaning: "The log of blocked requests is read and judged.",
  repeats: ["LogsForwarded"],
  repeatedStatuses: ["False", "Unknown"],
  reasons: {
    Judged: { statuses: ["True"], meaning: "All rows that the API returned have been judged.", action: noAction },
    Waiting: {
      statuses: ["Unknown"],
      meaning: "The logs have not been read yet. `wafsync plan` and `wafsync apply` do not read them.",
      action: "Wait; without a cluster, start `wafsync run`.",
    },
    Suspended: {
      statuses: ["Unknown"],
      meaning: "The object is suspended: no further requests are counted.",
      action: "Set `spec.suspend` to false to resume.",
    },
    TooManyAutoBlocks: {
      statuses: ["False"],
      meaning: "The instance has more WafAutoBlocks than are judged at once. The oldest are judged, the owner's first.",
      action: "Merge some of them, or delete those that are not needed.",
    },
  },
} as const satisfies ConditionFact;

export const incompleteFact = {
  kinds: ["WafAutoBlock"],
  polarity: "AbnormalTrue",
  meaning: "Clients reached the threshold and are not listed.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    MaxEntriesReached: {
      statuses: ["True"],
      meaning: "As many clients as `spec.maxEntries` allows are listed, so further clients are not.",
      action: "Review the listed clients. If they are attackers, raise `spec.maxEntries`, or set `groupBy: Network`.",
    },
  },
} as const satisfies ConditionFact;
