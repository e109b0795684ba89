// Groups removals on hold by list, by the last owners of the entries, and by reason, so that a person can decide about each group.
import type { HeldGroup } from "../../api/waf-instance.ts";
import { listNames } from "../../model/declared.ts";
import { readOwners } from "../../model/entry-owners.ts";
import type { EntryOwners } from "../../model/entry-owners.ts";
import { asSentence, shortened } from "../../model/sentence.ts";
import type { HeldRemovals } from "../../plan/lists/removal-guard.ts";

const examplesMax = 5;
const textLengthMax = 1024;
const byGuards = "The guards of the instance allow fewer removals at once.";

/** The largest groups first. */
export function heldGroups({ removals }: Pick<HeldRemovals, "removals">, entriesMax = examplesMax): HeldGroup[] {
  const groups = new Map<string, { group: HeldGroup; examples: string[] }>();
  for (const list of listNames) {
    for (const { entry, holds, owners } of removals[list]) {
      const reason = asSentence(holds[0]?.reason ?? byGuards);
      const key = JSON.stringify([list, owners, reason]);
      const known = groups.get(key) ?? { group: emptyGroup(list, owners, reason), examples: [] };
      groups.set(key, known);
      known.group.count += 1;
      if (known.examples.length < entriesMax) known.examples.push(entry);
    }
  }
  const all = [...groups.values()].map(({ group, examples }) => ({ ...group, examples }));
  return all.toSorted((a, b) => b.count - a.count);
}

function emptyGroup(list: HeldGroup["list"], owners: EntryOwners, reason: string): HeldGroup {
  const names = [...new Set(readOwners(owners).map(({ kind, name }) => `${kind} ${name}`))].join(", ");
  return {
    list,
    owners: shortened(names, textLengthMax),
    count: 0,
    reason: shortened(reason, textLengthMax),
    examples: [],
  };
}
