// The complete input of one reconcile of an instance, read from a cluster or a directory.
import type { AddressSource, TextSource } from "./address-source.ts";
import type { ApiKey } from "./api-key.ts";
import type {
  DeclaredAutoBlock,
  DeclaredCacheClear,
  DeclaredInstance,
  DeclaredOrigin,
  DeclaredRule,
  Grant,
  LabelSelector,
  NamespaceChoice,
} from "./declared.ts";
import type { Entry } from "../address/entry.ts";
import { type ResourceMeta, nameKey, type ResourceRef } from "./resource.ts";

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

// Decides whether an object may attach to an instance, and with which permissions. The instance's namespace is the owner and
// has all permissions. Every other namespace is a guest, with the permissions of the first matching grant in `spec.access`.

export type Attachment =
  /** `grant` is undefined for the owner. */
  | { readonly state: "Allowed"; readonly grant: Grant | undefined }
  | {
      /** `Unknown`: the labels of the namespace are unknown, so no decision is possible. */
      readonly state: "NotAllowed" | "Unknown";
      readonly message: string;
      readonly grant?: undefined;
    };

/** Whether a gathered object may attach to its instance. */
export function attachmentOf(
  { instance, namespaceLabels }: Pick<Gathered, "instance" | "namespaceLabels">,
  { kind, namespace }: Pick<ResourceRef, "kind" | "namespace">,
): Attachment {
  return decideAttachment(instance, kind, namespace, namespaceLabels.get(namespace));
}

/**
 * The messages are visible to the guest, so they must not reveal selectors or other namespaces.
 * @param labels the labels of `namespace`, or undefined if they could not be read
 */
export function decideAttachment(
  { meta, access }: DeclaredInstance,
  kind: ResourceMeta["kind"],
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): Attachment {
  if (namespace === meta.namespace) return { state: "Allowed", grant: undefined };
  const grant = access.find(({ namespaces }) => isChosen(namespaces, namespace, labels) !== false);
  if (grant !== undefined && isChosen(grant.namespaces, namespace, labels) === undefined) {
    return { state: "Unknown", message: `The labels of namespace ${namespace} could not be read.` };
  }
  if (grant?.kinds.some((one) => one === kind) === true) return { state: "Allowed", grant };
  return {
    state: "NotAllowed",
    message: `WafInstance ${nameKey(meta)} does not grant ${kind} objects to namespace ${namespace}: ask its owner to extend spec.access, or declare this in namespace ${meta.namespace}.`,
  };
}

/** Whether any grant depends on the labels of namespaces. */
export function dependsOnLabels({ access }: Pick<DeclaredInstance, "access">): boolean {
  return access.some(({ namespaces }) => namespaces.from === "Selector");
}

/** Undefined if it depends on labels that are unknown. */
export function isChosen(
  { from, names, selector }: NamespaceChoice,
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  if (from !== "Selector" || selector === undefined) return from === "All" || names?.includes(namespace) === true;
  return labels === undefined ? undefined : matchesSelector(selector, labels);
}

/** As in Kubernetes: all terms must match; a selector without terms matches everything. */
export function matchesSelector(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const labelsHold = Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value);
  return labelsHold && selector.matchExpressions.every((term) => matchesTerm(term, labels));
}

function matchesTerm(
  term: LabelSelector["matchExpressions"][number],
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[term.key];
  switch (term.operator) {
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "In":
      return value !== undefined && term.values.includes(value);
    case "NotIn":
      return value === undefined || !term.values.includes(value);
  }
}
