// The complete input of one reconcile of an instance, read from a cluster or a directory.
import type { AddressSource, TextSource } from "./address-source.ts";
import type { ApiKey } from "./api-key.ts";
import type {
  DeclaredAutoBlock,
  DeclaredCacheClear,
  DeclaredInstance,
  DeclaredOrigin,
  DeclaredRule,
} from "./declared.ts";
import type { Entry } from "../address/entry.ts";
import type { ResourceMeta } from "./resource.ts";

/** One `addressesFrom` item: the text of the key of a ConfigMap or Secret, the entries of a feed, or why it is unavailable. */
export type AddressText =
  | {
      readonly state: "Read";
      readonly source: TextSource;
      readonly text: string;
    }
  | {
      readonly state: "Listed";
      readonly source: AddressSource;
      readonly entries: readonly Entry[];
      /** Those that expire by themselves. */
      readonly ending?: ReadonlyMap<Entry, number>;
      /** Former entries that have expired. */
      readonly ended?: Pick<ReadonlyMap<Entry, number>, "has">;
      /** What it says about entries, for people: the comment behind one, or why the log lists it. */
      readonly notes?: ReadonlyMap<Entry, string>;
    }
  | { readonly state: "Missing"; readonly source: AddressSource; readonly problem: string };

export interface GatheredRule {
  readonly rule: DeclaredRule;
  /** One for each `addressesFrom` item of the rule. */
  readonly texts: readonly AddressText[];
}

/** `problem` says how to fix it, and never contains a part of the key. */
export type GatheredKey =
  | { readonly state: "Present"; readonly key: ApiKey }
  | { readonly state: "Missing"; readonly problem: string };

/** A rule or an origin that is not attached to an instance. */
export interface BrokenReference {
  readonly declared: DeclaredRule | DeclaredOrigin | DeclaredAutoBlock;
  /** The error in its reference to the instance. */
  readonly problem: string;
}

export interface BrokenReferences {
  /** Every rule and origin whose reference names an instance that does not exist, by `resourceKey`. */
  readonly objects: ReadonlyMap<string, BrokenReference>;
  /**
   * The `resourceKey` of every object that exists. Only in a directory, where a typo in `metadata.namespace` looks like the
   * deletion of one object and the creation of another.
   */
  readonly existing: ReadonlySet<string> | undefined;
}

export interface Gathered {
  readonly instance: DeclaredInstance;
  readonly key: GatheredKey;
  /**
   * All objects that refer to the instance. In a cluster, objects of namespaces without access are excluded; elsewhere they are
   * included and rejected.
   */
  readonly rules: readonly GatheredRule[];
  readonly origins: readonly DeclaredOrigin[];
  readonly cacheClears: readonly DeclaredCacheClear[];
  /** Absent if there are none. */
  readonly autoBlocks?: readonly DeclaredAutoBlock[];
  /** The labels of each namespace of the rules and origins. */
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Why the state may be incomplete, one sentence each. What they may hide counts as declaring what it last declared. */
  readonly brokenSources: readonly string[];
  /** Why the declared state could not be read from its source, in one sentence. Prevents all removals, even approved ones. */
  readonly unconfirmed?: string;
  /**
   * Rules and origins that this version of wafsync does not understand, by `resourceKey`, with their faults: their entries are
   * not removed. Absent if there are none.
   */
  readonly invalidObjects?: ReadonlyMap<string, string>;
  /** Objects that may be unattached by mistake: their entries are not removed. Absent if there are none. */
  readonly brokenReferences?: BrokenReferences;
  /** Other instances with the same base URL and key. */
  readonly sameKey: readonly ResourceMeta[];
  /** The workloads whose rollouts clear the cache, in their declared order; absent where there are no workloads at all. */
  readonly workloads?: readonly ObservedWorkload[];
}

/** A workload at one moment. */
export interface ObservedWorkload {
  /** `Deployment namespace/name`. */
  readonly workload: string;
  /**
   * `NotSeen`: it does not exist, or wafsync may not read it. `Unobserved`: its controller has not observed the last change, so it is
   * unknown whether a rollout follows.
   */
  readonly state: "NotSeen" | "Unobserved" | "RollingOut" | "Complete";
  /** `uid/revision`: another one with each rollout, but not when the workload is only scaled. Empty if it is not seen. */
  readonly rollout: string;
  /** Why it is not seen. */
  readonly why?: string;
}

/** The result of a fresh read of the declared state; without a picture if the instance no longer exists. */
export type ConfirmedGathering =
  | {
      readonly state: "Read";
      readonly gathered: Gathered | undefined;
      /** Objects may be missing because they are being replaced: nothing may be removed based on this read. */
      readonly isUnsettled?: true;
    }
  | { readonly state: "Failed"; readonly problem: string };

export interface ConfirmOptions {
  /** Waits, if necessary, until missing objects count as deleted. */
  readonly beforeRemovals?: boolean;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}
