// What came of one declared rule or origin when the desired state was compiled.
import type { DeclaredOrigin, DeclaredRule, ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { RejectedEntry, RulePart } from "./rule-entries.ts";
import { asSentence } from "../../model/sentence.ts";

export type RuleVerdict = "Accepted" | "NotAllowed" | "SourceMissing" | "InvalidEntries" | "GuardRejected" | "Conflict";

export interface CompiledRule {
  readonly rule: DeclaredRule;
  /** `namespace/name`. */
  readonly id: string;
  readonly list: ListName;
  /** The first thing that is wrong with it, or `Accepted`. Its good entries are wanted whatever the verdict, unless `NotAllowed`. */
  readonly verdict: RuleVerdict;
  /** What is wrong, for a person; empty for `Accepted`. */
  readonly message: string;
  /** What it wants on its list; nothing once it has expired. */
  readonly entries: ReadonlySet<Entry>;
  /** Where its entries come from, refused ones among them: tells the owners of an entry without a walk through the sources. */
  readonly parts: readonly RulePart[];
  readonly rejected: readonly RejectedEntry[];
  readonly expiresAtMs: number | undefined;
  readonly expired: boolean;
}

export interface CompiledOrigin {
  readonly origin: DeclaredOrigin;
  readonly verdict: "Accepted" | "NotAllowed" | "Conflict";
  readonly message: string;
}

/** One sentence on a list of refused entries: their number and the first of them. */
export function describeRejected(rejected: readonly RejectedEntry[]): string {
  const first = rejected[0];
  if (first === undefined) return "";
  const count = rejected.length === 1 ? "1 entry is" : `${rejected.length} entries are`;
  return `${count} not applied. ${first.source}: ${asSentence(first.message)}`;
}
