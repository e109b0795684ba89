// Inventory and status without a cluster: in the locked state directory, or, for a dry run, only in memory on top of the
// directory's content.
import type { Clock } from "../async/clock.ts";
import type { ObjectName, ResourceRef } from "../model/resource.ts";
import { nameKey, resourceKey } from "../model/resource.ts";
import { FileRecordStore } from "../records/file-record-store.ts";
import { createInventoryRecords } from "../records/inventory-records.ts";
import { SeenRecords } from "../records/seen-records.ts";
import type { HistoryPort, InventoryPort, StatusPort } from "../reconcile/ports.ts";
import { type StateDirectory, openStateDirectory, viewStateDirectory } from "../source/directory/state-directory.ts";
import { createStatusFiles } from "../source/directory/status-files.ts";
import type { SeenStore } from "./seen-keeper.ts";

export interface OpenedStore {
  readonly ok: true;
  readonly inventory: InventoryPort;
  readonly status: StatusPort;
  readonly seen: SeenStore;
  /** Undefined for a dry run. */
  readonly history: HistoryPort | undefined;
  /** The store of feeds. A dry run only reads it. */
  readonly state: StateDirectory;
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
  const seen = new SeenRecords(records);
  // A plan needs no history.
  const { HistoryRecords } = await import("../records/history-records.ts");
  const { HistoryKeeper } = await import("./history-keeper.ts");
  const history = new HistoryKeeper(new HistoryRecords(records, () => clock.nowMs()), clock, onProblem);
  const report = (problem: string | undefined): void => {
    if (problem !== undefined) onProblem(problem);
  };
  return {
    ok: true,
    inventory: createInventoryRecords(records),
    status,
    state: opened.state,
    seen: {
      read: async (instance) => await seen.read(instance),
      write: async (instance, lists) => report(await seen.write(instance, lists)),
      forget: async (instance) => report(await seen.forget(instance)),
    },
    history,
    known: async () => await listed(records),
    hasOthers: async (objects) => await status.hasOthers(objects),
    keepOnly: async (objects) => {
      report(await removeOtherFeeds(records, objects));
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
  const records = new FileRecordStore(state);
  // The stored status says which cache clears have finished; what the dry run finds stays in memory.
  const written = createStatusFiles({ state, clock, onProblem: () => undefined });
  const statuses = new Map<string, Readonly<Record<string, unknown>>>();
  return {
    ok: true,
    inventory: {
      load: async (instance) => await createInventoryRecords(records).load(instance),
      save: async () => ({ state: "Failed", problem: "This is a dry run: nothing is written." }),
      remove: async () => undefined,
    },
    status: {
      read: (meta) => statuses.get(resourceKey(meta)) ?? written.read(meta),
      write: async (meta, status) => void statuses.set(resourceKey(meta), status),
      event: () => undefined,
    },
    state,
    seen: {
      read: async (instance) => await new SeenRecords(records).read(instance),
      write: async () => undefined,
      forget: async () => undefined,
    },
    history: undefined,
    known: async () => await listed(records),
    hasOthers: async () => false,
    keepOnly: async () => undefined,
    problems: () => [],
    close: async () => undefined,
  };
}
