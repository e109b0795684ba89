// A change of rules by a command, and its result.
import type { DeclaredRule, ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { CommandRule } from "../command-rule.ts";

export interface RuleChanges {
  readonly instance: ObjectName;
  readonly put: readonly CommandRule[];
  /** Rules that an earlier command wrote. */
  readonly remove: readonly DeclaredRule[];
  /** The previous versions of rules in `put` that must lose entries. */
  readonly narrowed?: readonly DeclaredRule[];
}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
  /** Called whenever the reason for a delay changes. */
  readonly onMessage: (message: string) => void;
}

/** The entries that must be on a list afterwards, or must not be. */
export interface ExpectedEntry {
  readonly list: ListName;
  readonly entry: Entry;
  readonly isListed: boolean;
}

/**
 * `Settled`: the WAF shows the change. `Left`: the process that applies the change exited before that, or reports that it can't.
 * `TimedOut`: the change may still take effect. `NotWaited`: the result was not checked.
 */
export interface ChangeOutcome {
  readonly state: "Settled" | "Left" | "TimedOut" | "Stopped" | "NotWaited";
  /** Why the change is not settled; empty if it is. */
  readonly message: string;
  /** Whether a running process will expire the rules on time. */
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
