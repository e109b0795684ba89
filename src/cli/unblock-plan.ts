// Plans what `unblock` does: it removes or narrows the rules of commands, and finds the entries that still block the addresses
// afterwards. Pure.
import { NetworkIndex, without } from "../address/ranges.ts";
import type { DeclaredRule } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import { nameKey } from "../model/resource.ts";
import type { CommandRule } from "./command-rule.ts";
import { entriesOf, isCommandRule } from "./command-rule.ts";
import type { CoveringView } from "./why-view.ts";

/** Each part is one call, so their number is limited. */
const piecesMax = 64;

export interface UnblockPlan {
  /** Rules of commands without the addresses; their other addresses stay blocked. */
  readonly put: readonly CommandRule[];
  readonly remove: readonly DeclaredRule[];
  /** The previous versions of the rules in `put`. */
  readonly narrowed: readonly DeclaredRule[];
}

/** Takes the addresses out of every rule of `block` that contains them, or that they contain. */
export function planUnblock(addresses: readonly Entry[], rules: readonly DeclaredRule[]): UnblockPlan {
  const put: CommandRule[] = [];
  const remove: DeclaredRule[] = [];
  const narrowed: DeclaredRule[] = [];
  for (const rule of rules) {
    if (rule.action !== "Block" || !isCommandRule(rule.meta)) continue;
    const before = entriesOf(rule);
    const pieces = before.map((entry) => without(entry, addresses, piecesMax));
    // Too many networks: the rule stays as it is.
    if (pieces.includes(undefined)) continue;
    const left = pieces.flatMap((some) => some ?? []);
    if (left.length === before.length && left.every((entry, index) => entry === before[index])) continue;
    if (left.length === 0) remove.push(rule);
    else {
      narrowed.push(rule);
      put.push(narrowedTo(rule, left));
    }
  }
  return { put, remove, narrowed };
}

function narrowedTo(rule: DeclaredRule, addresses: readonly Entry[]): CommandRule {
  const { meta, instance, action, expiresAtMs, description = "" } = rule;
  return { namespace: meta.namespace, name: meta.name, instance, action, addresses, expiresAtMs, description };
}

/** What is still on the list without these rules, and for whom. */
export function staying(
  coverings: readonly CoveringView[],
  removed: readonly Pick<DeclaredRule, "meta">[],
): CoveringView[] {
  const gone = new Set(removed.map(({ meta }) => nameKey(meta)));
  return coverings.flatMap((covering) => {
    const owners = covering.owners.filter(({ kind, rule }) => kind !== "WafIpRule" || !gone.has(rule));
    if (covering.state === "NotOnList") return [];
    const isOthers = covering.management === "Unmanaged" && covering.state === "OnList";
    return owners.length > 0 || covering.owners.length === 0 || isOthers ? [{ ...covering, owners }] : [];
  });
}

/** The entries that lie in a network without being all of it, in their order. */
export function entriesInside(network: Entry, entries: Iterable<Entry>): readonly Entry[] {
  const index = new NetworkIndex([network]);
  return [...entries].filter((entry) => entry !== network && index.containing(entry) !== undefined);
}
