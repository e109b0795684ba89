// The messages about entries that a list has no room for, and the suggestion of a limit that the WAF may have.
import type { ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../address/entry.ts";
import type { Refusal } from "../../model/inventory.ts";
import { counted, inThousands } from "../../model/sentence.ts";
import type { RunFacts } from "../facts.ts";

const examplesMax = 5;
/** This many additions refused in the same words suggest a limit. */
const refusalsFrom = 3;

/** The entries that the lists of the instance have no room for, as sentences; undefined if everything fits. */
export function overflowOfInstance({ plan, gathered }: RunFacts): string | undefined {
  const sentences = listNames.flatMap((list) => {
    const left = plan?.leftOut[list];
    if (left === undefined || left.size === 0) return [];
    const { maxEntries = 0 } = gathered.instance.lists[list];
    const what = `${counted(left.size, "entry", "entries")} (${examplesOf([...left])})`;
    return [
      `${what} ${left.size === 1 ? "does" : "do"} not fit on the ${list}, which has room for ${inThousands(maxEntries)} (spec.${list}.maxEntries).${roomOnHold(list, plan)}`,
    ];
  });
  return sentences.length === 0 ? undefined : sentences.join(" ");
}

/** The same for the entries of one rule. It names no limit and no entry of another namespace. */
export function overflowOfRule(list: ListName, leftOut: readonly Entry[], { plan }: Pick<RunFacts, "plan">): string {
  const what = `${counted(leftOut.length, "entry", "entries")} (${examplesOf(leftOut)})`;
  return `${what} ${leftOut.length === 1 ? "does" : "do"} not fit on the ${list}: the WAF accepts a limited number of entries.${roomOnHold(list, plan)}`;
}

function roomOnHold(list: ListName, plan: RunFacts["plan"]): string {
  const isOnHold = plan !== undefined && plan.lists[list].held > 0;
  return isOnHold ? " Removals that are on hold would make room: see the condition RemovalsHeld of the instance." : "";
}

/** Removals that wait for entries that the API does not accept; empty if there are none. */
export function waitingRemovals({ plan }: Pick<RunFacts, "plan">): string {
  const waiting = listNames.flatMap((list) => plan?.waiting[list] ?? []);
  if (waiting.length === 0) return "";
  const wait = waiting.length === 1 ? "1 removal waits" : `${inThousands(waiting.length)} removals wait`;
  return ` ${wait} for them (${examplesOf(waiting)}), because declared entries would otherwise lose their cover.`;
}

/** Suggests that the size of the list may be the WAF's limit; empty unless additions were refused in the same words. */
export function limitSuggestion({ plan, observed, gathered }: RunFacts): string {
  if (plan === undefined || observed === undefined) return "";
  for (const list of listNames) {
    if (gathered.instance.lists[list].maxEntries !== undefined) continue;
    const words = Map.groupBy(refusedAdditions(list, plan.refusals), ([entry, { message }]) =>
      message.replaceAll(entry, ""),
    );
    if (![...words.values()].some(({ length }) => length >= refusalsFrom)) continue;
    const size = observed.lists[list].size;
    return ` If ${inThousands(size)} entries are the WAF's limit, set spec.${list}.maxEntries to ${size}.`;
  }
  return "";
}

function refusedAdditions(list: ListName, refusals: ReadonlyMap<string, Refusal>): [string, Refusal][] {
  const start = `${list} +`;
  return [...refusals].flatMap(([key, refusal]) => (key.startsWith(start) ? [[key.slice(start.length), refusal]] : []));
}

function examplesOf(entries: readonly Entry[]): string {
  return `${entries.slice(0, examplesMax).join(", ")}${entries.length > examplesMax ? ", …" : ""}`;
}
