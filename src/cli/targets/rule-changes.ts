// A change of rules by a command, and its result.
import type { DeclaredRule, ListName } from "../../model/declared.ts";
import { listOf } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { CommandRule } from "../command-rule.ts";
import { entriesOf } from "../command-rule.ts";

export interface RuleChanges {
  readonly instance: ObjectName;
  readonly put: readonly CommandRule[];
  /** Rules that an earlier command wrote. */
  readonly remove: readonly DeclaredRule[];
  /** The previous versions of rules in `put` that must lose entries. */
  readonly narrowed?: readonly DeclaredRule[];
  /** Entries of removed rules that stay on their list, because of other rules or another writer. */
  readonly staying: readonly { readonly list: string; readonly entry: string }[];
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

export function expectedEntries({ put, remove, narrowed = [], staying }: RuleChanges): readonly ExpectedEntry[] {
  const wanted = put.flatMap((rule) =>
    rule.addresses.map((entry) => ({ list: listOf(rule), entry, isListed: true }) satisfies ExpectedEntry),
  );
  const kept = new Set([...wanted, ...staying].map(({ list, entry }) => `${list} ${entry}`));
  const gone = [...remove, ...narrowed].flatMap((rule) =>
    entriesOf(rule).map((entry) => ({ list: listOf(rule), entry, isListed: false }) satisfies ExpectedEntry),
  );
  return [...wanted, ...gone.filter(({ list, entry }) => !kept.has(`${list} ${entry}`))];
}

/** The items for which `act` succeeds: for work that is welcome, but never a reason to fail. */
export async function keptOnSuccess<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<readonly Item[]> {
  const done: Item[] = [];
  for (const item of items) {
    await act(item).then(
      () => done.push(item),
      () => undefined,
    );
  }
  return done;
}
