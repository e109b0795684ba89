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
      meaning:
        "The instance has more WafAutoBlocks than wafsync judges. It judges the oldest, starting with those in the instance's namespace.",
      action: "Merge some of them, or delete those that are not needed.",
    },
  },
} as const satisfies ConditionFact;

export const incompleteFact = {
  kinds: ["WafAutoBlock"],
  polarity: "AbnormalTrue",
  meaning: "Some clients reached the threshold but are not listed.",
  repeats: [],
  repeatedStatuses: [],
  reasons: {
    MaxEntriesReached: {
      statuses: ["True"],
      meaning: "The number of listed clients has reached `spec.maxEntries`, so further clients are not listed.",
      action: "Review the listed clients. If they are attackers, raise `spec.maxEntries`, or set `groupBy: Network`.",
    },
  },
} as const satisfies ConditionFact;
