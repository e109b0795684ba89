// What is published about conditions: data that types, status, docs and tests are all made from.
import type { ResourceKind } from "../model/resource.ts";

export const conditionStatuses = ["True", "False", "Unknown"] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

export interface ReasonFact {
  /** The values of `status` that a condition with this reason may have. */
  readonly statuses: readonly ConditionStatus[];
  /** The kinds that can show it; without it: the kinds of the condition. */
  readonly kinds?: readonly ResourceKind[];
  /** What it means, as a sentence. */
  readonly meaning: string;
  /** What a person does about it, as a sentence. */
  readonly action: string;
}

export interface ConditionFact {
  readonly kinds: readonly ResourceKind[];
  /** `True` is good; or the condition is only there while something is out of the ordinary. */
  readonly polarity: "NormalTrue" | "AbnormalTrue";
  readonly meaning: string;
  readonly reasons: Readonly<Record<string, ReasonFact>>;
  /** Conditions whose reasons it may repeat, because it sums them up; with the values of `status` that it then has. */
  readonly repeats: readonly string[];
  readonly repeatedStatuses: readonly ConditionStatus[];
}

export const noAction = "Nothing to do.";
