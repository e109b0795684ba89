// Plans what `unblock` does for an address: it removes or narrows the rules of commands, and finds the entries that still block
// the address afterwards. Pure.
import { carve } from "../model/carve.ts";
import { AddressCover } from "../model/address-cover.ts";
import type { DeclaredRule } from "../model/declared.ts";
import type { Entry } from "../model/entry.ts";
import { parseDeclaredEntry } from "../model/entry.ts";
import type { Covering, Explanation } from "../plan/instance/explain.ts";
import type { CommandRule } from "./command-rule.ts";
import { isCommandRule } from "./command-rule.ts";

/** Each part is one call, so their number is limited. */
const piecesMax = 64;

export interface UnblockPlan {
  /** Rules of commands without the address; their other addresses stay blocked. */
  readonly put: readonly CommandRule[];
  readonly remove: readonly DeclaredRule[];
  /** The previous versions of the rules in `put`. */
  readonly narrowed: readonly DeclaredRule[];
  /** The entries that still block the address afterwards. */
  readonly left: readonly Covering[];
  /** Whether an Allow rule for the address would be an exception instead of a conflict. */
  readonly mayAllow: boolean;
}

export function planUnblock(address: Entry, explanation: Explanation, rules: readonly DeclaredRule[]): UnblockPlan {
  const cover = new AddressCover(address);
  const own = rules.filter((rule) => rule.action === "Block" && isCommandRule(rule.meta) && names(rule, cover));
  const put: CommandRule[] = [];
  const remove: DeclaredRule[] = [];
  const kept = new Set<DeclaredRule>();
  for (const rule of own) {
    const addresses = without(rule, address);
    if (addresses === undefined) kept.add(rule);
    else if (addresses.length === 0) remove.push(rule);
    else put.push(narrowedTo(rule, addresses));
  }
  const goes = new Set(
    [...remove, ...own.filter((rule) => !kept.has(rule))].map(({ meta }) => `${meta.namespace}/${meta.name}`),
  );
  const isOurs = ({ rule: { meta } }: Covering["wantedBy"][number]): boolean =>
    goes.has(`${meta.namespace}/${meta.name}`);
  const left = explanation.coverings.filter(({ list, isLive, wantedBy, isManaged, coveredBy }) => {
    // A covered entry is added to the list when the entry that covers it is removed.
    if (list !== "blocklist" || (isLive === false && coveredBy === undefined)) return false;
    // An unmanaged entry that a rule of a command declared stays on the list.
    return wantedBy.length === 0 || !wantedBy.every(isOurs) || isManaged === false;
  });
  return {
    put,
    remove,
    narrowed: own.filter((rule) => !kept.has(rule) && !remove.includes(rule)),
    left,
    // Allowed addresses are exempt from automatic blocks.
    mayAllow: left.every(
      ({ entry, wantedBy }) =>
        entry !== address || wantedBy.every(({ rule: { meta } }) => meta.kind === "WafAutoBlock"),
    ),
  };
}

function names(rule: DeclaredRule, cover: AddressCover): boolean {
  return rule.addresses.some((text) => cover.find(text) !== undefined);
}

/** The addresses of the rule without the given one; undefined if this needs too many networks. */
function without({ addresses }: DeclaredRule, asked: Entry): readonly Entry[] | undefined {
  const cover = new AddressCover(asked);
  const left: Entry[] = [];
  for (const text of addresses) {
    const parsed = parseDeclaredEntry(text);
    if (!parsed.ok) continue;
    const pieces = cover.has(parsed.entry) ? carve(parsed.entry, [asked], piecesMax) : [parsed.entry];
    if (pieces === undefined) return undefined;
    left.push(...pieces);
  }
  return left;
}

function narrowedTo({ meta, instance, action, expiresAtMs }: DeclaredRule, addresses: readonly Entry[]): CommandRule {
  const { namespace, name } = meta;
  return { namespace, name, instance, action, addresses, expiresAtMs, description: "Narrowed by wafsync unblock" };
}
