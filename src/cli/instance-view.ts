// What a command shows about one instance: plain data, the same for people and for `-o json`.
import type { Condition } from "../api/conditions.ts";
import { findCondition } from "../api/conditions.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import type { ResourceMeta } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { Adoption, Operation } from "../model/operation.ts";
import type { RunFacts } from "../reconcile/facts.ts";
import { asSentence } from "../model/sentence.ts";
import { unrecordedMessage } from "../reconcile/status/emit-events.ts";
import { formerOwners } from "../reconcile/status/held-message.ts";
import { troubleOf } from "../reconcile/status/trouble.ts";

export interface ObjectView {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** `120/10000` for a rule, the state for an origin, the last handled trigger for a cache clear. */
  readonly progress: string;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  /** The place of its declaration: `rules.yaml:1`. */
  readonly place: string;
  /** False if it, or a part of it, is invalid and has to be corrected. */
  readonly isAccepted: boolean;
  /** For a rule: how many entries are not applied. */
  readonly rejectedCount: number;
  /** The first of them. */
  readonly rejected: readonly EntryView[];
  /** Of a rule: how many entries are written as narrower networks. */
  readonly carvedCount: number;
  /** The first of them. */
  readonly carved: readonly EntryView[];
}

/** An entry that is not applied as it is written, and why. */
export interface EntryView {
  readonly entry: string;
  readonly source: string;
  readonly message: string;
  readonly place: string;
}

export interface OperationView {
  readonly operation: Operation["kind"] | "Adopt" | "ClearCache";
  readonly target: string;
  readonly value: string;
  readonly reason: string;
}

export interface InstanceView {
  readonly namespace: string;
  readonly name: string;
  /** The place of its declaration: `waf.yaml:1`. */
  readonly place: string;
  readonly domain: string | undefined;
  readonly primaryOrigin: string | undefined;
  /** `Done`, or the result otherwise. */
  readonly end: string;
  readonly trouble: string | undefined;
  readonly added: number;
  readonly removed: number;
  /** How many times the command cleared the cache; absent where it is not counted. */
  readonly cleared?: number;
  /** Entries that became managed without a call. */
  readonly adopted: number;
  /** What is not as it should be, and stops nothing. */
  readonly warnings: readonly string[];
  readonly lists: RunFacts["lists"];
  readonly operations: readonly OperationView[];
  readonly held: readonly OperationView[];
  readonly approve: string | undefined;
  readonly objects: readonly ObjectView[];
}

type Status = Readonly<Record<string, unknown>>;

/** What the facts do not contain. */
export interface ObjectLook {
  readStatus(meta: ResourceMeta): Status | undefined;
  /** File and line of the entry that a status identifies by `source`. */
  placeOf(meta: ResourceMeta, source: string): string;
}

/** @param pendingClears Cache clears that a run would handle, before all other calls. */
export function viewInstance(
  facts: RunFacts,
  look: ObjectLook,
  pendingClears: readonly DeclaredCacheClear[] = [],
): InstanceView {
  const { meta } = facts.gathered.instance;
  const { plan, observed } = facts;
  const metas = [
    meta,
    ...facts.desired.rules.map(({ rule }) => rule.meta),
    ...facts.desired.compiledOrigins.map(({ origin }) => origin.meta),
    ...facts.gathered.cacheClears.map((clear) => clear.meta),
  ];
  return {
    namespace: meta.namespace,
    name: meta.name,
    place: meta.location,
    domain: observed?.domain,
    primaryOrigin: observed?.primaryOrigin,
    end: facts.result === undefined ? "Running" : facts.result.kind,
    trouble: troubleOf(facts)?.message,
    added: facts.done.added + facts.done.originsAdded,
    removed: facts.done.removed + facts.done.originsRemoved,
    adopted: facts.done.adopted,
    warnings: [unrecordedMessage(facts)].filter((warning) => warning !== undefined),
    lists: facts.lists,
    operations: [
      ...pendingClears.map(viewClear),
      ...(plan?.adoptions ?? []).map(viewAdoption),
      ...[...(plan?.operations ?? []), ...(plan?.observedOnly ?? [])].map(viewOperation),
    ],
    held: plan === undefined ? [] : heldOperations(facts),
    approve: plan?.held?.hash,
    objects: metas.map((object) => viewObject(object, look)),
  };
}

/** The same for a command that ends now, so that nothing is retried. */
export function viewResult(
  facts: RunFacts,
  look: ObjectLook,
  pendingClears: readonly DeclaredCacheClear[] = [],
): InstanceView {
  const view = viewInstance(facts, look, pendingClears);
  if (facts.result?.kind !== "Failed") return view;
  const { code, message } = facts.result.fault;
  const isKey = code === "BadApiKey" || code === "MissingApiKey";
  const hint = isKey
    ? " Put a valid key into the Secret of spec.apiKeySecretRef, or into WAFSYNC_API_KEY next to WAFSYNC_BASE_URL."
    : "";
  return { ...view, trouble: `${message}${hint}` };
}

function viewObject(meta: ResourceMeta, look: ObjectLook): ObjectView {
  const status = look.readStatus(meta);
  const conditions = (status?.["conditions"] ?? []) as readonly Condition[];
  const ready = findCondition(conditions, "Ready");
  const accepted = findCondition(conditions, "Accepted");
  const isAccepted = accepted?.status !== "False";
  const told = isAccepted || ready?.status === "False" ? ready : accepted;
  const entriesOf = (field: string): readonly EntryView[] => {
    const items = (status?.[field] ?? []) as readonly Omit<EntryView, "place">[];
    return items.map((item) => ({ ...item, place: look.placeOf(meta, item.source) }));
  };
  const rejected = entriesOf("rejected");
  const carved = entriesOf("carved");
  const counts = (status?.["entries"] ?? {}) as { readonly rejected?: number; readonly carved?: number };
  const progress = status?.["progress"] ?? status?.["state"] ?? status?.["lastTrigger"];
  return {
    kind: meta.kind,
    namespace: meta.namespace,
    name: meta.name,
    progress: typeof progress === "string" ? progress : "",
    ready: ready?.status ?? "Unknown",
    reason: told?.reason ?? "",
    message: told?.message ?? "",
    place: meta.location,
    isAccepted,
    rejectedCount: counts.rejected ?? rejected.length,
    rejected,
    carvedCount: counts.carved ?? carved.length,
    carved,
  };
}

export function viewOperation(operation: Operation): OperationView {
  const { kind, reason } = operation;
  if (kind === "AddEntry") return { operation: kind, target: operation.list, value: operation.entry, reason };
  if (kind === "RemoveEntry") return { operation: kind, target: operation.list, value: operation.spelling, reason };
  return { operation: kind, target: `${operation.type.toLowerCase()} origin`, value: operation.host, reason };
}

function viewAdoption({ list, entry, rules }: Adoption): OperationView {
  const reason = `on the list already, adopted for WafIpRule ${rules.join(", ")} without a call`;
  return { operation: "Adopt", target: list, value: entry, reason };
}

function viewClear({ meta, trigger }: DeclaredCacheClear): OperationView {
  const what = trigger === undefined ? "not handled yet" : `trigger ${trigger} is not handled yet`;
  return { operation: "ClearCache", target: "cache", value: nameKey(meta), reason: what };
}

function heldOperations({ plan }: RunFacts): OperationView[] {
  const views: OperationView[] = [];
  for (const list of ["blocklist", "allowlist"] as const) {
    for (const { entry: value, holds, owners } of plan?.held?.removals[list] ?? []) {
      const why = holds[0]?.reason ?? "the guards of the instance allow fewer removals at once";
      const reason = `${["on hold", formerOwners(owners)].filter((part) => part !== "").join(", ")}: ${asSentence(why)}`;
      views.push({ operation: "RemoveEntry", target: list, value, reason });
    }
  }
  return views;
}
