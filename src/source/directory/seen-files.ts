// Stores which declared entries were on the lists at the end of the last complete run: `seen/<namespace>/<name>.json`. The next
// command compares it with the lists to detect entries that another writer removed. Nothing else depends on it: without a valid
// file, no drift is detected.
import type { ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { SeenLists } from "../../model/observed.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { objectFileName } from "./object-file-name.ts";
import type { FilePath, FileResult, StateDirectory } from "./state-directory.ts";

const folder = "seen";
/** Far more than 100,000 entries require. */
const fileBytesMax = 64 * 1024 * 1024;

export interface SeenFiles {
  /** Undefined if nothing usable is stored. */
  read(instance: ObjectName): Promise<SeenLists | undefined>;
  write(instance: ObjectName, seen: SeenLists): Promise<FileResult<void>>;
  /** Called before the first write of a run: removals of an interrupted run must not look like drift. */
  forget(instance: ObjectName): Promise<FileResult<void>>;
}

export function createSeenFiles(state: StateDirectory): SeenFiles {
  return {
    read: async (instance) => {
      const read = await state.read(fileOf(instance), fileBytesMax);
      return read.ok && read.value !== undefined ? parseSeen(read.value, instance) : undefined;
    },
    write: async (instance, seen) => await state.write(fileOf(instance), formatSeen(instance, seen)),
    forget: async (instance) => {
      const stored = await state.read(fileOf(instance), fileBytesMax);
      if (stored.ok && stored.value === undefined) return { ok: true, value: undefined };
      return await state.remove(fileOf(instance));
    },
  };
}

/** One entry per line, for readability. */
function formatSeen(instance: ObjectName, { domain, lists }: SeenLists): string {
  const of = (list: ListName): string[] => [...lists[list].keys()].toSorted();
  const record = { instance: nameKey(instance), domain, blocklist: of("blocklist"), allowlist: of("allowlist") };
  return `${JSON.stringify(record, undefined, 1)}\n`;
}

function parseSeen(text: string, instance: ObjectName): SeenLists | undefined {
  try {
    const value = (JSON.parse(text) ?? {}) as Readonly<Record<string, unknown>>;
    const { domain } = value;
    if (typeof domain !== "string" || value["instance"] !== nameKey(instance)) return undefined;
    const lists: Record<ListName, ReadonlySet<Entry>> = { blocklist: new Set(), allowlist: new Set() };
    for (const list of listNames) {
      const entries = value[list];
      if (!Array.isArray(entries) || !entries.every(isEntryText)) return undefined;
      lists[list] = new Set(entries);
    }
    return { domain, lists };
  } catch {
    return undefined;
  }
}

/** Checks only the type, because parsing 100,000 entries takes long. Entries that are not declared as well are ignored. */
function isEntryText(value: unknown): value is Entry {
  return typeof value === "string" && /^[\d.:a-f]+(?:\/\d+)?$/.test(value);
}

function fileOf({ namespace, name }: ObjectName): FilePath {
  return [folder, namespace, objectFileName(name).replace(/\.yaml$/, ".json")];
}
