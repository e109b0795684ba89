// The data about published conditions, from which types, status, docs and tests are derived.
import type { ResourceKind } from "../model/resource.ts";

export const conditionStatuses = ["True", "False", "Unknown"] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

export interface ReasonFact {
  /** The values of `status` that a condition with this reason may have. */
  readonly statuses: readonly ConditionStatus[];
  /** The kinds that can show this reason. If unset: all kinds of the condition. */
  readonly kinds?: readonly ResourceKind[];
  /** What the reason means, as a sentence. */
  readonly meaning: string;
  /** What the user should do, as a sentence. */
  readonly action: string;
}

export interface ConditionFact {
  readonly kinds: readonly ResourceKind[];
  /** Whether `True` is the normal state, or the condition is present only while something is abnormal. */
  readonly polarity: "NormalTrue" | "AbnormalTrue";
  readonly meaning: string;
  readonly reasons: Readonly<Record<string, ReasonFact>>;
  /** Conditions that this one summarizes and whose reasons it may repeat, with the values of `status` that it then has. */
  readonly repeats: readonly string[];
  readonly repeatedStatuses: readonly ConditionStatus[];
}

export const noAction = "Nothing to do.";
