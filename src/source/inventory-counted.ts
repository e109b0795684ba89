// The removals that count for the guards, as lines of the section `approval`.
import type { ListName } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import { encodeWord } from "../model/encoded-word.ts";
import type { Entry } from "../model/entry.ts";
import type { Inventory, RemovalCount } from "../model/inventory.ts";
import { decodeEntry } from "./inventory-entries.ts";
import { decodeTime, encodeTime } from "./inventory-lines.ts";

/** No approval hash starts like this. */
export const countedPrefix = "removed ";

export type MutableCounted = Record<ListName, Map<Entry, RemovalCount>>;

export function* countedLines(counted: Inventory["counted"]): Iterable<string> {
  for (const list of listNames) {
    for (const [entry, { atMs, weight }] of counted[list]) {
      yield `${countedPrefix}${list} ${encodeWord(entry)} ${encodeTime(atMs)} ${weight}`;
    }
  }
}

/** A crash between two shards can leave two lines for one entry: the later one counts. */
export function readCounted(line: string, counted: MutableCounted): boolean {
  const [list, word, time, weight = "", ...more] = line.slice(countedPrefix.length).split(" ");
  const name = listNames.find((known) => known === list);
  const entry = decodeEntry(word);
  const atMs = decodeTime(time);
  if (name === undefined || entry === undefined || atMs === null) return false;
  if (more.length > 0 || !/^[1-9][0-9]{0,8}$/.test(weight)) return false;
  const before = counted[name].get(entry);
  if (before === undefined || before.atMs < atMs) counted[name].set(entry, { atMs, weight: Number(weight) });
  return true;
}
