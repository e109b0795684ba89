// The ports of the use cases. The cluster, the directory, the simulation and the tests each have their own adapters.
import type { Clock } from "../async/clock.ts";
import type { DeclaredCacheClear, DeclaredInstance } from "../model/declared.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { ConfirmedGathering, ConfirmOptions, Gathered } from "../model/gathered.ts";
import type { Approval, Refusal, InventoryPort } from "../model/inventory.ts";
import type { Adoption, Effect, Operation } from "../model/operation.ts";
import type { ObjectName, ResourceMeta } from "../model/resource.ts";
import type { WafFault, WafPort } from "../model/waf-result.ts";
import type { Plan } from "../decide/plan.ts";
import type { CompiledRule } from "../decide/compiled-rule.ts";
import type { DriftedEntry } from "../decide/disputes.ts";
import type { RunFacts, RunResult } from "./facts.ts";
import type { WafInstanceStatus } from "../kinds/waf-instance.ts";
import type { World } from "./world.ts";

/** Where resources come from. */
export interface SourcePort {
  /** Everything that belongs to the instance, from the cache; undefined if the instance does not exist. */
  gather(instance: ObjectName): Promise<Gathered | undefined>;
  /** Like `gather`, but from a fresh read: before removals, so that a stale cache cannot unblock anyone. */
  confirm(instance: ObjectName, options: ConfirmOptions): Promise<ConfirmedGathering>;
  /** False while missing objects may only be in the middle of a replacement. Absent if changes are atomic. */
  isSettled?(): boolean;
  /** Increases whenever the result of `gather` may have changed. Must be cheap, because it is called before every call of the WAF. */
  version(instance: ObjectName): number;
  /**
   * Whether the CRDs are being removed, and the instances with them: this is not a request to remove entries. Absent if there are
   * no CRDs. Never rejects.
   */
  isUninstalling?(): Promise<boolean>;
  /** Deletes an expired object, if it is still the same one. Never rejects. Absent if the objects are files of the users. */
  removeObject?(object: ResourceMeta): Promise<void>;
}

/** Prevents the deletion of an instance until its entries are removed: with a finalizer, if there are finalizers. */
export interface LifecyclePort {
  /** Called before the first write. Returns undefined if the finalizer exists, or why it could not be added. */
  ensureFinalizer(instance: ResourceMeta): Promise<string | undefined>;
  /** Called after the last write. Returns undefined if the finalizer is gone, or why it could not be removed. */
  removeFinalizer(instance: ResourceMeta): Promise<string | undefined>;
}

/** Opens the WAF of an instance; the same lane for the same base URL and key. */
export type OpenWaf = (instance: DeclaredInstance, key: ApiKey) => WafPort;

export interface ObjectEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** The entries of the event: the `namespace/name` of their WafIpRule, if it is known, the first of them, and how many there are. */
  readonly details?: { readonly rule?: string; readonly entries: readonly string[]; readonly count: number };
  /** The same event was emitted for the instance: relevant for the object, but redundant for viewers of all events. */
  readonly isRepeated?: true;
}

/** Where statuses and events are written. A failure of either never fails a reconcile run. */
export interface StatusPort {
  /** The current status, or undefined if there is none. */
  read(object: ResourceMeta): Readonly<Record<string, unknown>> | undefined;
  /** Writes the status if it differs from the current one. Returns why it could not be written, if so. */
  write(object: ResourceMeta, status: Readonly<Record<string, unknown>>): Promise<string | void>;
  event(object: ResourceMeta, event: ObjectEvent): void;
}

/** Observes the runs over an instance, for progress bars, metrics and logs. Must not throw. */
export interface ReconcileObserver {
  /** @param domain that of the API key */
  planned?(instance: ObjectName, plan: Plan, domain: string): void;
  /** The API accepted the write. */
  operationDone?(instance: ObjectName, operation: Operation, left: number): void;
  /** The run continues by itself after the delay. */
  waiting?(instance: ObjectName, why: string, delayMs: number): void;
  failed?(instance: ObjectName, fault: WafFault): void;
  /** A call to clear the cache has ended, successfully or not. A call for an object also serves pending rollouts. */
  clearTried?(instance: ObjectName, cause: "WafCacheClear" | "Rollout", isCleared: boolean): void;
  /** The instance is released, and this many managed entries and origins stay on its WAF; undefined if the number is unknown. */
  orphaned?(instance: ObjectName, count: number | undefined): void;
}

/** What a run did or found. */
export type Happening =
  /** The API accepted the write. */
  | { readonly kind: "Accepted"; readonly operation: Operation }
  /** No answer says whether the write took effect. */
  | { readonly kind: "Unknown"; readonly operation: Operation; readonly problem: string }
  /** The list shows that a write with an unknown outcome took effect. */
  | { readonly kind: "Settled"; readonly operation: Operation }
  | { readonly kind: "Refused"; readonly refusal: Refusal }
  | { readonly kind: "Drifted"; readonly drift: DriftedEntry }
  /** It took effect with the record. */
  | { readonly kind: "Adopted"; readonly adoption: Adoption }
  | { readonly kind: "Approved"; readonly approval: Approval };

/** What a run knew before something happened. */
export type Known = Pick<World, "gathered" | "desired" | "inventory">;

/** What else happens in the runs of one instance: work on the same lane that a run knows nothing of, between its writes. */
export interface RunHooks {
  /** Called before every write, so it must be cheap while there is nothing to do. */
  beforeWrite(world: World): Promise<HookStep | undefined>;
  /** What it reports: its part of the instance's status, and the next status of each of its objects. */
  report(facts: RunFacts): {
    readonly instance: Partial<WafInstanceStatus>;
    readonly objects: readonly ReportedObject[];
  };
  /** Called at the end of a run, before its report. */
  atEnd(status: StatusPort, facts: RunFacts): HooksEnd;
}

/** A result ends the run. `Again`: the world has changed, and is planned for again before any write. */
export type HookStep = RunResult | "Again";

/** An object, and its next status. */
export type ReportedObject = readonly [meta: ResourceMeta, after: (before: object) => object];

export interface HooksEnd {
  /** Cache clears that are neither finished nor suspended. */
  readonly pending: readonly DeclaredCacheClear[];
  /** When to run again without a change; undefined if there is nothing to do then. */
  readonly wakeAtMs: number | undefined;
  /** The objects to delete after the report. */
  readonly expired: readonly ResourceMeta[];
}

/** The history for people. Nothing waits for it or depends on it. Must not throw. */
export interface HistoryPort {
  happened(happening: Happening, known: Known, atMs: number): void;
  /** The instance has taken over the record of `former`, whose history becomes the beginning of its own. */
  continues(instance: ObjectName, former: ObjectName): void;
}

/** The plan that a user has reviewed: a run writes nothing else. */
export interface ReviewPort {
  /** The hash of the removals on hold that the plan contains, which approves them; undefined if there are none. */
  approvalOf(instance: ObjectName): string | undefined;
  /** Asked before each call, and before each adoption. False ends the run. */
  permits(instance: ObjectName, effect: Effect): boolean;
}

export interface ReconcilePorts {
  /** Why the operator may not call this base URL, in a sentence; undefined if it may. */
  readonly baseUrlObjection: (baseUrl: string) => string | undefined;
  readonly source: SourcePort;
  readonly inventory: InventoryPort;
  readonly lifecycle: LifecyclePort;
  readonly openWaf: OpenWaf;
  readonly status: StatusPort;
  /** The status of a rule that is not a WafIpRule; undefined for other rules. Absent if there are only these. */
  readonly statusOf?: (before: object, rule: CompiledRule, facts: RunFacts) => object | undefined;
  /** Creates what else happens in the runs of one instance. Absent if there is nothing else. */
  readonly newHooks?: () => RunHooks;
  /** Absent if no history is kept. */
  readonly history?: HistoryPort | undefined;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  readonly observer: ReconcileObserver;
  /** Absent if a run may write whatever its plan contains. */
  readonly review?: ReviewPort | undefined;
  /** Whether the run must yield to others, after what it has done so far; called after each write. Absent if there are no others. */
  readonly isTurnOver?: (done: { readonly writes: number; readonly elapsedMs: number }) => boolean;
  /** The minimum time between two progress reports of a run; two seconds if undefined. */
  readonly progressIntervalMs?: () => number;
  /** Aborts when the process must end: no new call may start. */
  readonly stopping: AbortSignal;
  /** Aborts a moment later: the call in flight is abandoned. */
  readonly abandon: AbortSignal;
}

/** The source with more in what it gathers. */
export function extending(
  source: SourcePort,
  extend: (gathered: Gathered) => Gathered | Promise<Gathered>,
): SourcePort {
  const extended = async (gathered: Gathered | undefined): Promise<Gathered | undefined> => {
    return gathered && (await extend(gathered));
  };
  return {
    ...source,
    gather: async (instance) => await extended(await source.gather(instance)),
    confirm: async (instance, options) => {
      const confirmed = await source.confirm(instance, options);
      return confirmed.state === "Failed" ? confirmed : { ...confirmed, gathered: await extended(confirmed.gathered) };
    },
  };
}
