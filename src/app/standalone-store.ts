// Inventory and status without a cluster: in the locked state directory, or, for a dry run, only in memory on top of the
// directory's content.
import type { Clock } from "../async/clock.ts";
import type { ObjectName, ResourceRef } from "../model/resource.ts";
import { resourceKey } from "../model/resource.ts";
import type { HistoryPort, InventoryPort, StatusPort } from "../reconcile/ports.ts";
import { createInventoryFiles } from "../source/directory/inventory-files.ts";
import { createSeenFiles } from "../source/directory/seen-files.ts";
import {
  type FileResult,
  openStateDirectory,
  type StateDirectory,
  viewStateDirectory,
} from "../source/directory/state-directory.ts";
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
  const files = createInventoryFiles(opened.state);
  const status = createStatusFiles({ state: opened.state, clock, onProblem });
  const seenFiles = createSeenFiles(opened.state);
  // A plan needs no history.
  const { createHistoryFiles } = await import("../source/directory/history-files.ts");
  const { HistoryKeeper } = await import("./history-keeper.ts");
  const historyFiles = createHistoryFiles(opened.state);
  const history = new HistoryKeeper(
    {
      append: async (instance, events) => problemOf(await historyFiles.append(instance, events)),
      takeOver: async (instance, former) => problemOf(await historyFiles.takeOver(instance, former, clock.nowMs())),
    },
    clock,
    onProblem,
  );
  const report = (result: FileResult<void>): void => {
    if (!result.ok) onProblem(result.problem);
  };
  return {
    ok: true,
    inventory: files,
    status,
    state: opened.state,
    seen: {
      read: async (instance) => await seenFiles.read(instance),
      write: async (instance, seen) => report(await seenFiles.write(instance, seen)),
      forget: async (instance) => report(await seenFiles.forget(instance)),
    },
    history,
    known: async () => await listed(files),
    hasOthers: async (objects) => await status.hasOthers(objects),
    keepOnly: async (objects) => {
      // Most folders have no feeds.
      const { removeOtherFeeds } = await import("../source/directory/feed-files.ts");
      const problem = await removeOtherFeeds(opened.state, objects.filter(isFeed));
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

function problemOf(result: FileResult<void>): string | undefined {
  return result.ok ? undefined : result.problem;
}

function isFeed({ kind }: ResourceRef): boolean {
  return kind === "WafFeed";
}

async function listed(files: ReturnType<typeof createInventoryFiles>): Promise<readonly ObjectName[]> {
  const found = await files.list();
  return found.ok ? found.value : [];
}

function dryStore({ stateDirectory, clock }: StoreOptions): OpenedStore {
  const state = viewStateDirectory(stateDirectory);
  const files = createInventoryFiles(state);
  // The stored status says which cache clears have finished; what the dry run finds stays in memory.
  const written = createStatusFiles({ state, clock, onProblem: () => undefined });
  const statuses = new Map<string, Readonly<Record<string, unknown>>>();
  return {
    ok: true,
    inventory: {
      load: async (instance) => await files.load(instance),
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
      read: async (instance) => await createSeenFiles(state).read(instance),
      write: async () => undefined,
      forget: async () => undefined,
    },
    history: undefined,
    known: async () => await listed(files),
    hasOthers: async () => false,
    keepOnly: async () => undefined,
    problems: () => [],
    close: async () => undefined,
  };
}
