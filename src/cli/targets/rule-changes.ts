// A change of rules that a command makes, and what came of it.
import type { DeclaredRule, ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { CommandRule } from "../command-rule.ts";

export interface RuleChanges {
  readonly instance: ObjectName;
  readonly put: readonly CommandRule[];
  /** Rules that a command wrote before. */
  readonly remove: readonly DeclaredRule[];
  /** What rules in `put` were before, if they have to lose entries. */
  readonly narrowed?: readonly DeclaredRule[];
}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
  /** Called whenever there is something new to say about why it takes long. */
  readonly onMessage: (message: string) => void;
}

/** What should be on a list afterwards, or no longer. */
export interface ExpectedEntry {
  readonly list: ListName;
  readonly entry: Entry;
  readonly isListed: boolean;
}

/**
 * `Settled`: the WAF shows it. `Left`: whoever applies it has ended without it, or says that it can't. `TimedOut`: it may still
 * happen. `NotWaited`: nobody looked.
 */
export interface ChangeOutcome {
  readonly state: "Settled" | "Left" | "TimedOut" | "Stopped" | "NotWaited";
  /** Why it is not settled; empty if it is. */
  readonly message: string;
  /** Whether something keeps running that will end the rules in time. */
  readonly isFollowed: boolean;
}

export function expectedEntries({ put, remove, narrowed = [] }: RuleChanges): readonly ExpectedEntry[] {
  const listOf = (rule: Pick<DeclaredRule, "action">): ListName =>
    rule.action === "Block" ? "blocklist" : "allowlist";
  const wanted = put.flatMap((rule) =>
    rule.addresses.map((entry) => ({ list: listOf(rule), entry, isListed: true }) satisfies ExpectedEntry),
  );
  const isPut = new Set(wanted.map(({ list, entry }) => `${list} ${entry}`));
  const gone = [...remove, ...narrowed].flatMap((rule) =>
    rule.addresses.map(
      (text) => ({ list: listOf(rule), entry: text as Entry, isListed: false }) satisfies ExpectedEntry,
    ),
  );
  return [...wanted, ...gone.filter(({ list, entry }) => !isPut.has(`${list} ${entry}`))];
}
