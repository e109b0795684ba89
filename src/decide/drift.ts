// Drift: changes by other writers to the lists since wafsync last read them that contradict the declared state.
import type { ListName } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { DesiredState } from "./desired.ts";
import type { Observed, SeenLists } from "../model/observed.ts";

export interface DriftedEntry {
  readonly list: ListName;
  readonly entry: Entry;
  /** `Vanished`: a declared entry is missing from the list. `Reappeared`: wafsync removed it, no rule declares it, and it is back. */
  readonly change: "Vanished" | "Reappeared";
}

export interface LastSeen extends SeenLists {
  /** The entries that this process removed, as far as it remembers. */
  readonly removed: Readonly<Record<ListName, ReadonlySet<Entry>>>;
}

/** Only changes that wafsync corrects are drift: not if it writes nothing, or ignores the entries of other writers. */
export function findDrift(desired: DesiredState, observed: Observed, last: LastSeen | undefined): DriftedEntry[] {
  const { suspend, policies } = desired.instance;
  if (last === undefined || last.domain !== observed.domain || suspend) return [];
  const drift: DriftedEntry[] = [];
  for (const list of listNames) {
    if (policies[list] === "Observe") continue;
    const now = observed.lists[list];
    for (const entry of last.lists[list].keys()) {
      if (!now.has(entry) && desired.lists[list].has(entry)) drift.push({ list, entry, change: "Vanished" });
    }
    if (policies[list] !== "Exclusive") continue;
    for (const entry of last.removed[list]) {
      if (!now.has(entry) || last.lists[list].has(entry) || desired.lists[list].has(entry)) continue;
      drift.push({ list, entry, change: "Reappeared" });
    }
  }
  return drift;
}
