// Drift: what other writers changed on the lists since wafsync last read them, against what is declared.
import type { ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { DesiredState } from "./desired.ts";
import type { Observed, SeenLists } from "../../model/observed.ts";

export interface DriftedEntry {
  readonly list: ListName;
  readonly entry: Entry;
  /** `Vanished`: declared, was on the list, is missing. `Reappeared`: wafsync removed it, no rule declares it, it is back. */
  readonly change: "Vanished" | "Reappeared";
}

export interface LastSeen extends SeenLists {
  /** What wafsync itself removed since this process started, as far as it remembers. */
  readonly removed: Readonly<Record<ListName, ReadonlySet<Entry>>>;
}

/** Only what wafsync will correct is drift: there is none where it writes nothing, or leaves the entries of others alone. */
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
