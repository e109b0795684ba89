// Inventory and status without a cluster: in the locked state directory, or, for a dry run, only in memory on top of the
// directory's content.
import type { Clock } from "../async/clock.ts";
import type { ObjectName, ResourceRef } from "../model/resource.ts";
import { nameKey, resourceKey } from "../model/resource.ts";
import { FileRecordStore } from "../records/file-record-store.ts";
import { createInventoryRecords } from "../records/inventory-records.ts";
import type { RecordStore } from "../records/record-store.ts";
import { SeenRecords } from "../records/seen-records.ts";
import type { HistoryPort, InventoryPort, StatusPort } from "../reconcile/ports.ts";
import { openStateDirectory, viewStateDirectory } from "../source/directory/state-directory.ts";
import { createStatusFiles } from "../source/directory/status-files.ts";
import { SeenKeeper } from "./seen-keeper.ts";

export interface OpenedStore {
  readonly ok: true;
  readonly inventory: InventoryPort;
  readonly status: StatusPort;
  readonly seen: SeenKeeper;
  /** Undefined for a dry run. */
  readonly history: HistoryPort | undefined;
  /** The store of feeds and logs. A dry run saves nothing in it. */
  readonly records: RecordStore;
  /** Why the state directory can't be used any longer, in a sentence. */
  lost(): string | undefined;
  /** Every instance that has an inventory. */
  known(): Promise<readonly ObjectName[]>;
  /** Whether the store has a status of any other object. */
  hasOthers(objects: readonly ResourceRef[]): Promise<boolean>;
  /** Removes the stored data of all other objects, which are no longer declared. */
  keepOnly(objects: readonly ResourceRef[]): Promise<void>;
  /** Why statuses and events could not be written, one sentence each. */
  problems(): readonly string[];
  close(): Promise<void>;
}

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
  if (options.isDryRun) return dryStore(options);
  const { stateDirectory: path, clock, command, onLost } = options;
  const problems: string[] = [];
  const onProblem = (problem: string): void => {
    if (problems.length < problemsMax) problems.push(problem);
  };
  const opened = await openStateDirectory({ path, clock, command, onLost });
  if (!opened.ok) return opened;
  const records = new FileRecordStore(opened.state);
  const status = createStatusFiles({ state: opened.state, clock, onProblem });
  // A plan needs no history.
  const { HistoryRecords } = await import("../records/history-records.ts");
  const { HistoryKeeper } = await import("./history-keeper.ts");
  const history = new HistoryKeeper(new HistoryRecords(records, () => clock.nowMs()), clock, onProblem);
  return {
    ok: true,
    inventory: createInventoryRecords(records),
    status,
    records,
    lost: () => opened.state.lost(),
    seen: new SeenKeeper(new SeenRecords(records), onProblem),
    history,
    known: async () => await listed(records),
    hasOthers: async (objects) => await status.hasOthers(objects),
    keepOnly: async (objects) => {
      const problem = await removeOtherFeeds(records, objects);
      if (problem !== undefined) onProblem(problem);
      // Last, because existing statuses indicate that there is something to remove.
      await status.keepOnly(objects);
    },
    problems: () => problems,
    close: async () => {
      await status.flush();
      await history.flush();
      await opened.state.release();
    },
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

async function listed(records: FileRecordStore): Promise<readonly ObjectName[]> {
  const found = await records.list("Inventory");
  return found.ok ? found.value : [];
}

function dryStore({ stateDirectory, clock }: StoreOptions): OpenedStore {
  const state = viewStateDirectory(stateDirectory);
  const files = new FileRecordStore(state);
  const records: RecordStore = {
    load: async (key) => await files.load(key),
    save: async (_key, _text, revision) => ({ state: "Saved", revision }),
    remove: async () => undefined,
    placeOf: (key) => files.placeOf(key),
  };
  // The stored status says which cache clears have finished; what the dry run finds stays in memory.
  const written = createStatusFiles({ state, clock, onProblem: () => undefined });
  const statuses = new Map<string, Readonly<Record<string, unknown>>>();
  return {
    ok: true,
    records,
    inventory: createInventoryRecords(records),
    status: {
      read: (meta) => statuses.get(resourceKey(meta)) ?? written.read(meta),
      write: async (meta, status) => void statuses.set(resourceKey(meta), status),
      event: () => undefined,
    },
    lost: () => state.lost(),
    seen: new SeenKeeper(new SeenRecords(records), () => undefined),
    history: undefined,
    known: async () => await listed(files),
    hasOthers: async () => false,
    keepOnly: async () => undefined,
    problems: () => [],
    close: async () => undefined,
  };
}
