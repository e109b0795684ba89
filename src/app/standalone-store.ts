// What is stored without a cluster: in the locked state directory, or, for a dry run, only in memory on top of the directory's content.
import type { Clock } from "../async/clock.ts";
import { nameKey, resourceKey, type ResourceRef } from "../model/resource.ts";
import type { History } from "../history/history.ts";
import { FileRecordStore } from "../records/file-record-store.ts";
import { createInventoryRecords } from "../records/inventory-records.ts";
import type { RecordStore } from "../records/record-store.ts";
import type { StatusPort } from "../run/ports.ts";
import { openStateDirectory, type StateDirectory, viewStateDirectory } from "../source/directory/state-directory.ts";
import { StatusFiles } from "../source/directory/status-files.ts";
import { SeenKeeper } from "./seen-keeper.ts";

/** `history` is undefined for a dry run. */
export type OpenedStore = ReturnType<typeof storeIn> & { readonly history?: History };

export interface StoreOptions {
  readonly stateDirectory: string;
  readonly isDryRun: boolean;
  readonly clock: Clock;
  readonly command: string;
  readonly onLost: () => void;
}

/** Further problems are not kept, because the first ones show the cause. */
const problemsMax = 10;

export async function openStore(
  options: StoreOptions,
): Promise<OpenedStore | { readonly ok: false; readonly problem: string; readonly isInUse?: true }> {
  const { stateDirectory: path, clock, isDryRun } = options;
  if (isDryRun) return storeIn(viewStateDirectory(path), clock, true);
  const opened = await openStateDirectory({ ...options, path });
  if (!opened.ok) return opened;
  const { state } = opened;
  const store = storeIn(state, clock, false);
  // A plan needs no history.
  const { History } = await import("../history/history.ts");
  const history = new History(store.records, clock, store.onProblem);
  const close = async (): Promise<void> => {
    await store.close();
    await history.flush();
    await state.release();
  };
  return { ...store, history, close };
}

function storeIn(state: StateDirectory, clock: Clock, isDryRun: boolean) {
  const problems: string[] = [];
  const onProblem = (problem: string): void => {
    if (!isDryRun && problems.length < problemsMax) problems.push(problem);
  };
  const files = new FileRecordStore(state);
  const records = isDryRun ? unsaved(files) : files;
  // The stored status says which cache clears have finished; what a dry run finds stays in memory.
  const written = new StatusFiles({ state, clock, onProblem });
  return {
    ok: true as const,
    inventory: createInventoryRecords(records),
    status: isDryRun ? statusInMemory(written) : written,
    seen: new SeenKeeper(records, onProblem),
    /** The store of feeds and logs. A dry run saves nothing in it. */
    records,
    /** Why statuses and events could not be written, one sentence each. */
    problems,
    onProblem,
    /** Why the state directory can't be used any longer, in a sentence. */
    lost: () => state.lost(),
    /** Every instance that has an inventory. */
    known: async () => {
      const found = await files.list("Inventory");
      return found.ok ? found.value : [];
    },
    /** Whether the store has a status of any other object. */
    hasOthers: async (objects: readonly ResourceRef[]) => !isDryRun && (await written.hasOthers(objects)),
    /** Removes the stored data of all other objects, which are no longer declared. */
    keepOnly: async (objects: readonly ResourceRef[]) => {
      const problem = await removeOtherFeeds(files, objects);
      if (problem !== undefined) onProblem(problem);
      // Last, because existing statuses indicate that there is something to remove.
      await written.keepOnly(objects);
    },
    close: async () => await written.flush(),
  };
}

/** Undefined on success, otherwise the reason. */
async function removeOtherFeeds(
  records: FileRecordStore,
  objects: readonly ResourceRef[],
): Promise<string | undefined> {
  const kept = new Set(objects.filter(({ kind }) => kind === "WafFeed").map(nameKey));
  const found = await records.list("Feed");
  if (!found.ok) return found.problem;
  for (const feed of found.value.filter((one) => !kept.has(nameKey(one)))) {
    const problem = await records.remove({ type: "Feed", ...feed });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function unsaved(files: RecordStore): RecordStore {
  return {
    load: async (key) => await files.load(key),
    save: async (_key, _text, revision) => ({ state: "Saved", revision }),
    remove: async () => undefined,
    placeOf: (key) => files.placeOf(key),
  };
}

function statusInMemory(written: Pick<StatusPort, "read">): StatusPort {
  const statuses = new Map<string, Readonly<Record<string, unknown>>>();
  return {
    read: (meta) => statuses.get(resourceKey(meta)) ?? written.read(meta),
    write: async (meta, status) => void statuses.set(resourceKey(meta), status),
    event: () => undefined,
  };
}
