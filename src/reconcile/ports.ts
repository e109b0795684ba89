// What the use cases need of the world. The cluster, the directory, the simulation and the tests each bring their own.
import type { Clock } from "../async/clock.ts";
import type { DeclaredInstance, ListName, OriginType } from "../model/declared.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { ConfirmedGathering, ConfirmOptions, Gathered } from "../model/gathered.ts";
import type { HistoryEvent } from "../model/history.ts";
import type { Inventory, LoadedInventory, SavedInventory } from "../model/inventory.ts";
import type { Operation } from "../model/operation.ts";
import type { ObjectName, ResourceMeta } from "../model/resource.ts";
import type { OriginsRead, WafFault, WafResult, WriteAccepted } from "../model/waf-result.ts";
import type { Plan } from "../plan/instance/plan.ts";

/** Where resources come from. */
export interface SourcePort {
  /** All that belongs to the instance, as last seen; undefined if there is no such instance. */
  gather(instance: ObjectName): Promise<Gathered | undefined>;
  /** The same, read afresh where it lives: before removals, so that a stale cache cannot unblock anyone. */
  confirm(instance: ObjectName, options: ConfirmOptions): Promise<ConfirmedGathering>;
  /** False while missing objects may only be in the middle of a replacement. Absent if changes are atomic. */
  isSettled?(): boolean;
  /** Grows whenever what `gather` would answer may have changed. Cheap: asked before every call. */
  version(instance: ObjectName): number;
  /**
   * Whether the kinds themselves are being removed, and the instances with them: that is no wish to remove entries. Absent
   * where there is no such thing. Never rejects.
   */
  isUninstalling?(): Promise<boolean>;
  /** Deletes an object whose time is over, if it is still the same one. Never rejects. Absent where files are the users' own. */
  removeObject?(object: ResourceMeta): Promise<void>;
}

/** Where the inventory lives. */
export interface InventoryPort {
  load(instance: ObjectName): Promise<LoadedInventory>;
  save(instance: ObjectName, inventory: Inventory, revision: string): Promise<SavedInventory>;
  /** The instance is gone, and nothing is left to remember. Undefined, or why it could not be done. */
  remove(instance: ObjectName): Promise<string | undefined>;
}

/** Keeps an instance from disappearing before its entries are removed: a finalizer, where there is such a thing. */
export interface LifecyclePort {
  /** Before the first write. Undefined when the finalizer is there, or why it is not. */
  ensureFinalizer(instance: ResourceMeta): Promise<string | undefined>;
  /** After the last write. Undefined when the finalizer is gone, or why it could not be removed. */
  removeFinalizer(instance: ResourceMeta): Promise<string | undefined>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** The WAF of one key. Calls wait for their turn in the key's lane. */
export interface WafPort {
  readOrigins(options?: CallOptions): Promise<WafResult<OriginsRead>>;
  readList(list: ListName, options?: CallOptions): Promise<WafResult<readonly string[]>>;
  addEntry(list: ListName, text: string, options?: CallOptions): Promise<WafResult<WriteAccepted>>;
  removeEntry(list: ListName, text: string, options?: CallOptions): Promise<WafResult<WriteAccepted>>;
  addOrigin(host: string, type: OriginType, options?: CallOptions): Promise<WafResult<WriteAccepted>>;
  removeOrigin(host: string, options?: CallOptions): Promise<WafResult<WriteAccepted>>;
  clearCache(options?: CallOptions): Promise<WafResult<WriteAccepted>>;
}

/** Opens the WAF of an instance; the same lane for the same base URL and key. */
export type OpenWaf = (instance: DeclaredInstance, key: ApiKey) => WafPort;

export interface ObjectEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** The message in machine-readable form. */
  readonly details?: EventDetails;
  /** The same event was emitted for the instance: relevant for the object, but redundant for viewers of all events. */
  readonly isRepeated?: true;
}

/** The entries of an event. */
export interface EventDetails {
  /** `namespace/name` of the WafIpRule; absent if unknown. */
  readonly rule?: string;
  /** The first of them. */
  readonly entries: readonly string[];
  /** How many there are. */
  readonly count: number;
}

/** Where status and events go. Neither ever fails a reconcile. */
export interface StatusPort {
  /** The status as it stands there, or undefined if there is none. */
  read(object: ResourceMeta): Readonly<Record<string, unknown>> | undefined;
  /** Written only where it differs from what stands there. */
  write(object: ResourceMeta, status: Readonly<Record<string, unknown>>): Promise<void>;
  event(object: ResourceMeta, event: ObjectEvent): void;
}

/** What a call to clear the cache was made for; a call for an object does for rollouts too. */
export type ClearCause = "WafCacheClear" | "Rollout";

/** Observes the runs over an instance, for progress bars, metrics and logs. Must not throw. */
export interface ReconcileObserver {
  planned?(instance: ObjectName, plan: Plan): void;
  /** The API accepted the write. */
  operationDone?(instance: ObjectName, operation: Operation, left: number): void;
  /** The run continues by itself after the delay. */
  waiting?(instance: ObjectName, why: string, delayMs: number): void;
  failed?(instance: ObjectName, fault: WafFault): void;
  /** A call to clear the cache has ended, with whatever outcome. */
  clearTried?(instance: ObjectName, cause: ClearCause, isCleared: boolean): void;
  /** The instance goes, and this many managed entries and origins stay on its WAF; undefined if the number is unknown. */
  orphaned?(instance: ObjectName, count: number | undefined): void;
}

/** The work of a run so far. */
export interface Turn {
  readonly writes: number;
  readonly elapsedMs: number;
}

/** The history for people. Nothing waits for it or depends on it. Must not throw. */
export interface HistoryPort {
  note(instance: ObjectName, events: readonly HistoryEvent[]): void;
  /** The instance has taken over the record of `former`, whose history is the beginning of its own from now on. */
  continues(instance: ObjectName, former: ObjectName): void;
}

export interface ReconcilePorts {
  /** Why the operator may not call this base URL, in a sentence; undefined if it may. */
  readonly baseUrlObjection: (baseUrl: string) => string | undefined;
  readonly source: SourcePort;
  readonly inventory: InventoryPort;
  readonly lifecycle: LifecyclePort;
  readonly openWaf: OpenWaf;
  readonly status: StatusPort;
  /** Absent if no history is kept. */
  readonly history?: HistoryPort | undefined;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  readonly observer: ReconcileObserver;
  /** Whether the run must yield to others; called after each write. Absent if there are no others. */
  readonly isTurnOver?: (turn: Turn) => boolean;
  /** The minimum time between two reports of a run that goes on; two seconds if undefined. */
  readonly progressIntervalMs?: () => number;
  /** Aborts when the process is to end: no new call is begun. */
  readonly stopping: AbortSignal;
  /** Aborts a little later: a running call is given up. */
  readonly abandon: AbortSignal;
}
