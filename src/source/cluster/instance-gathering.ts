// Gathers the objects of an instance: from the stores or, before removals, by one consistent read per kind, so that neither a stale cache nor a
// CRD that is being deleted can unblock anyone. Objects of namespaces without access are excluded first, so that no Secret or ConfigMap is
// read for them. Then reads what the instance and its rules refer to: the Secret with the API key, and the ConfigMaps with addresses. The
// owner's ConfigMaps come first. A run waits only briefly for those of guests, and their grant limits the size of each text.
import { apiGroup, apiVersionName, pluralOf } from "../../kinds/kinds.ts";
import type { Clock } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import { TimeSlices } from "../../async/time-slices.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { getObject, listObjects } from "../../kube/verbs.ts";
import { dependsOnLabels } from "../../model/attachment.ts";
import type { DeclaredInstance, DeclaredRule, Grant } from "../../model/declared.ts";
import type { AddressText, ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import {
  nameKey,
  type ObjectName,
  type ResourceKind,
  entryKinds,
  type GuestKind,
  guestKinds,
} from "../../model/resource.ts";
import { parseInSlices } from "../../decide/rule-entries.ts";
import {
  type AttachedObjects,
  gather,
  byGuestKind,
  type Labels,
  type LabelsOf,
  type ObjectSet,
  type References,
} from "../gather.ts";
import type { ApiKeys } from "./api-keys.ts";
import { attachedOf, type Attachments, attachmentsOf, type UnattachedObjects, watchedLabels } from "./attachment.ts";
import {
  attachedObjects,
  type ClusterObject,
  instanceNameOf,
  namespaceType,
  parseInstance,
  parseObject,
  slimObject,
  typeOfKind,
} from "./cluster-object.ts";
import { type ClusterStores, type ClusterWatches, unreadableInstance } from "./cluster-watches.ts";
import type { ConfigMaps } from "./config-maps.ts";
import type { InstanceChanges } from "./instance-changes.ts";
import type { RolloutWatches } from "./rollout-watches.ts";

export interface InstanceGatheringOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** The only namespace to watch; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly watches: ClusterWatches;
  readonly references: InstanceReferences;
  readonly rollouts: RolloutWatches;
  readonly unattached: UnattachedObjects;
}

export class InstanceGathering {
  readonly #options: InstanceGatheringOptions;

  constructor(options: InstanceGatheringOptions) {
    this.#options = options;
  }

  /** From the stores; undefined if the instance does not exist. */
  async gather(name: ObjectName): Promise<Gathered | undefined> {
    const { stores } = this.#options.watches;
    const instance = parseInstance(stores.byKind.WafInstance.get(nameKey(name)));
    if (instance === undefined) return undefined;
    const referring = this.#referringTo(nameKey(name));
    return await gather(
      await this.#objects({ instance, referring, labelsOf: watchedLabels(stores) }, { isFresh: false }),
    );
  }

  /** From the API server. */
  async confirm(name: ObjectName): Promise<ConfirmedGathering> {
    const fresh = await readFresh(this.#options, name);
    if (!fresh.ok) return { state: "Failed", problem: fresh.problem };
    if (fresh.value === undefined) return { state: "Read", gathered: undefined };
    const set = await this.#objects(fresh.value, { isFresh: true });
    const gathered = await gather(set);
    const [problem] = gathered.brokenSources.slice(set.gaps.length);
    return problem === undefined ? { state: "Read", gathered } : { state: "Failed", problem };
  }

  async #objects(
    { instance, referring, labelsOf }: FreshObjects,
    { isFresh }: { readonly isFresh: boolean },
  ): Promise<ObjectSet> {
    const { clock, references, rollouts, unattached, watches } = this.#options;
    const attachments = attachmentsOf(instance, labelsOf);
    const unreadable = this.#referringTo(unreadableInstance);
    return {
      instance,
      attached: await parseAttached([referring, unreadable], attachments, new TimeSlices(clock)),
      labelsOf,
      references: async (rules) => await references.read(instance, granted(rules, attachments), isFresh),
      // Objects that are only watched, never read again.
      gaps: watches.gaps(),
      brokenReferences: unattached.brokenReferences(instance),
      workloads: rollouts.sightsOf(instance),
    };
  }

  #referringTo(instance: string): ReferringObjects {
    const { byKind } = this.#options.watches.stores;
    return byGuestKind((kind) => byKind[kind].listBy("instance", instance));
  }
}

/** Parses the objects that are or may be attached in slices, because an instance can have thousands. */
async function parseAttached(
  sources: readonly ReferringObjects[],
  attachments: Attachments,
  slices: TimeSlices,
): Promise<AttachedObjects> {
  const attached = byGuestKind((kind) => sources.flatMap((source) => attachedOf(attachments, kind, source[kind])));
  for (const kind of guestKinds) {
    for (const object of attached[kind]) {
      parseObject(kind, object);
      if (slices.isOver) await slices.pause();
    }
  }
  return attachedObjects(attached);
}

export interface GrantedRule {
  readonly rule: DeclaredRule;
  /** Undefined for the owner. */
  readonly grant: Grant | undefined;
  /** Whether its entries can apply: otherwise, none of its ConfigMaps is read. */
  readonly isAttached: boolean;
}

export function granted(rules: readonly DeclaredRule[], attachments: Attachments): GrantedRule[] {
  return rules.map((rule) => {
    const attachment = attachments("WafIpRule", rule.meta.namespace);
    const isAttached = attachment.state === "Allowed";
    return { rule, isAttached, grant: isAttached ? attachment.grant : undefined };
  });
}

/** How long a run waits for ConfigMaps of guests: an urgent address of the owner waits as long. A fresh read waits for all. */
export const guestWaitMsMax = 250;
/** The size of a guest's text, in characters: for each granted entry, because lines may have comments, and at least. */
const charactersOfEntry = 128;
const charactersOfGuestMin = 64 * 1024;

export interface InstanceReferencesOptions {
  readonly clock: Clock;
  readonly keys: ApiKeys;
  readonly maps: ConfigMaps;
  readonly changes: Pick<InstanceChanges, "sharing" | "touch" | "unreadRivals">;
}

export class InstanceReferences {
  readonly #options: InstanceReferencesOptions;

  constructor(options: InstanceReferencesOptions) {
    this.#options = options;
  }

  /**
   * Also tries once to read the keys of other instances of which this one could be a duplicate.
   * @param isFresh whether ConfigMaps are read even if the watch shows no change
   */
  async read(instance: DeclaredInstance, rules: readonly GrantedRule[], isFresh: boolean): Promise<References> {
    const { keys, changes } = this.#options;
    const [key] = await Promise.all([
      keys.read(instance, instance.resyncIntervalMs),
      this.#load(instance, rules, isFresh),
      Promise.all(changes.unreadRivals(instance).map(async (peer) => await keys.ensureTried(peer))),
    ]);
    return {
      key,
      rules: await this.#texts(rules),
      problems: this.#problems(rules),
      sameKey: key.state === "Present" ? changes.sharing(instance.meta, key.key).map(({ meta }) => meta) : [],
    };
  }

  /** Ends when the ConfigMaps of guests take too long: then their last content is used, and the end of the reads is a change. */
  async #load({ meta }: DeclaredInstance, rules: readonly GrantedRule[], isFresh: boolean): Promise<void> {
    const { clock, maps, changes } = this.#options;
    const load = async ({ rule, grant }: GrantedRule): Promise<void> => {
      const options = { lengthMax: charactersMax(grant), isFresh };
      await Promise.all(mapNamesOf(rule).map(async (name) => await maps.load(name, options)));
    };
    const attached = rules.filter(({ isAttached }) => isAttached);
    const ofOwner = attached.filter(({ grant }) => grant === undefined).map(load);
    const ofGuests = Promise.all(attached.filter(({ grant }) => grant !== undefined).map(load));
    await Promise.all(ofOwner);
    if (isFresh) return void (await ofGuests);
    const { inTime } = await withDeadline({ clock, timeoutMs: guestWaitMsMax }, async () => await ofGuests);
    if (!inTime) void ofGuests.then(() => changes.touch(meta, "ConfigMaps of guests were read"));
  }

  /** Parses the texts in slices. */
  async #texts(rules: readonly GrantedRule[]): Promise<Gathered["rules"]> {
    const slices = new TimeSlices(this.#options.clock);
    const gathered: { readonly rule: DeclaredRule; readonly texts: readonly AddressText[] }[] = [];
    for (const { rule, isAttached } of rules) {
      const { namespace } = rule.meta;
      const used = isAttached ? rule.addressesFrom : [];
      const texts = used.map(({ name, key }) => this.#options.maps.text({ namespace, name }, key));
      for (const _ of parseInSlices({ rule, texts })) if (slices.isOver) await slices.pause();
      gathered.push({ rule, texts });
      if (slices.isOver) await slices.pause();
    }
    return gathered;
  }

  #problems(rules: readonly GrantedRule[]): string[] {
    const attached = rules.filter(({ isAttached }) => isAttached);
    const problems = attached.flatMap(({ rule }) =>
      mapNamesOf(rule).flatMap((name) => this.#options.maps.problem(name) ?? []),
    );
    return [...new Set(problems)];
  }
}

function charactersMax(grant: Grant | undefined): number {
  if (grant === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(grant.maxEntries * charactersOfEntry, charactersOfGuestMin);
}

function mapNamesOf({ meta: { namespace }, addressesFrom }: DeclaredRule): ObjectName[] {
  const names = addressesFrom.map(({ name }): ObjectName => ({ namespace, name }));
  return [...new Map(names.map((name) => [nameKey(name), name])).values()];
}

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;
/** The maximum size of a page: several times that of an object, and parsed in well below 100 ms. */
const pageBytesMax = 16 * 1024 * 1024;

export type Fresh<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** All objects of each kind that refer to an instance, valid or not. */
export type ReferringObjects = Readonly<Record<GuestKind, readonly ClusterObject[]>>;

export interface FreshObjects {
  readonly instance: DeclaredInstance;
  readonly referring: ReferringObjects;
  readonly labelsOf: LabelsOf;
}

export interface FreshContext {
  readonly api: ApiServer;
  /** The only namespace of this operator; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly watches: Pick<ClusterWatches, "stores" | "markCrdTerminating">;
}

/** The current objects of the instance; undefined if the instance no longer exists. Never rejects. */
export async function readFresh(context: FreshContext, name: ObjectName): Promise<Fresh<FreshObjects | undefined>> {
  const [served, instance] = await Promise.all([checkKinds(context), readInstance(context, name)]);
  if (!served.ok) return served;
  if (!instance.ok || instance.value === undefined) return instance as Fresh<undefined>;
  const { api, namespace, watches } = context;
  const { access, meta } = instance.value;
  // Without grants, only the instance's own namespace has access.
  const scope = namespace ?? (access.length === 0 ? meta.namespace : undefined);
  const list = async (kind: GuestKind) => ({
    kind,
    listed: await listReferring(api, kind, meta, { scope, stores: watches.stores }),
  });
  const [labels, lists] = await Promise.all([readLabels(context, instance.value), Promise.all(guestKinds.map(list))]);
  if (!labels.ok) return labels;
  const objects = new Map<GuestKind, readonly ClusterObject[]>();
  for (const { kind, listed } of lists) {
    if (!listed.ok) return failedRead(`The ${pluralOf(kind)} of ${nameKey(meta)}`, listed.fault);
    objects.set(kind, listed.value);
  }
  const referring = byGuestKind((kind) => objects.get(kind) ?? []);
  return { ok: true, value: { instance: instance.value, referring, labelsOf: labels.value } };
}

/**
 * The objects of a kind that refer to the instance, in one namespace or in all: a consistent snapshot. An object that is stored in
 * the same version is the stored one, so that it is not parsed again.
 */
export async function listReferring(
  api: ApiServer,
  kind: GuestKind,
  instance: ObjectName,
  { scope, stores }: { readonly scope: string | undefined; readonly stores?: Pick<ClusterStores, "byKind"> },
): Promise<ApiResult<readonly ClusterObject[]>> {
  const listed = await listObjects<ClusterObject>(api, typeOfKind(kind), {
    ...(scope === undefined ? {} : { namespace: scope }),
    fieldSelector: `spec.instanceRef.name=${instance.name}`,
    timeoutMs: listTimeoutMs,
    bodyBytesMax: pageBytesMax,
    ...(stores === undefined ? {} : { slim: (object) => slimmed(kind, object, stores) }),
  });
  if (!listed.ok) return listed;
  const items = listed.value.items.filter((object) => {
    const of = instanceNameOf(object);
    return of !== undefined && nameKey(of) === nameKey(instance);
  });
  return { ...listed, value: items };
}

/**
 * A kind whose CRD is being deleted; undefined if there is none. Its objects disappear one after another, although lists still
 * succeed, and users did not delete the objects that are missing from such a list. During this time, the API server does not offer
 * the verb `create` for the kind. Never rejects.
 */
export async function findTerminatingCrd({ api }: Pick<FreshContext, "api">): Promise<Fresh<ResourceKind | undefined>> {
  const path = `/apis/${apiGroup}/${apiVersionName}`;
  const read = await api.request<unknown>({ method: "GET", path, timeoutMs: requestTimeoutMs });
  if (!read.ok && read.fault.code === "Forbidden") return { ok: true, value: undefined };
  if (!read.ok) return failedRead(`The kinds of ${apiGroup}`, read.fault);
  const resources = isRecord(read.value) && Array.isArray(read.value["resources"]) ? read.value["resources"] : [];
  const terminating = (["WafInstance", ...entryKinds] as const).find((kind) => {
    const resource = resources.find((item) => isRecord(item) && item["name"] === typeOfKind(kind).plural) as unknown;
    return !isRecord(resource) || !Array.isArray(resource["verbs"]) || !resource["verbs"].includes("create");
  });
  return { ok: true, value: terminating };
}

async function checkKinds(context: FreshContext): Promise<Fresh<undefined>> {
  const terminating = await findTerminatingCrd(context);
  if (!terminating.ok) return terminating;
  if (terminating.value === undefined) return { ok: true, value: undefined };
  context.watches.markCrdTerminating(terminating.value);
  return { ok: false, problem: `The CRD of ${terminating.value} is being deleted, and all its objects with it.` };
}

async function readInstance(
  { api, watches }: FreshContext,
  name: ObjectName,
): Promise<Fresh<DeclaredInstance | undefined>> {
  const subject = `WafInstance ${nameKey(name)}`;
  const options = { timeoutMs: requestTimeoutMs };
  const read = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), name, options);
  if (!read.ok && read.fault.code === "NotFound") return { ok: true, value: undefined };
  if (!read.ok) return failedRead(subject, read.fault);
  const stored = watches.stores.byKind.WafInstance.get(nameKey(name));
  if (stored !== undefined && stored.metadata.uid !== read.value.metadata.uid) {
    return { ok: false, problem: `${subject} has been deleted and created again.` };
  }
  const parsed = parseObject("WafInstance", slimmed("WafInstance", read.value, watches.stores));
  if (!parsed.ok) return { ok: false, problem: `${subject} is invalid: ${parsed.problem}` };
  return { ok: true, value: parsed.declared };
}

/** The current labels of all namespaces if access depends on them; otherwise, those that the watch shows. */
async function readLabels(
  { api, namespace, watches }: FreshContext,
  instance: DeclaredInstance,
): Promise<Fresh<LabelsOf>> {
  if (namespace !== undefined || !dependsOnLabels(instance)) return { ok: true, value: watchedLabels(watches.stores) };
  const read = await listObjects<KubeObject>(api, namespaceType, { timeoutMs: listTimeoutMs, metadataOnly: true });
  if (!read.ok) return failedRead("The namespaces", read.fault);
  const labels = new Map<string, Labels>();
  for (const { metadata } of read.value.items) labels.set(metadata.name, metadata.labels ?? {});
  return { ok: true, value: (name) => labels.get(name) };
}

function slimmed(kind: ResourceKind, read: ClusterObject, { byKind }: Pick<ClusterStores, "byKind">): ClusterObject {
  const { namespace = "", name, uid, resourceVersion } = read.metadata;
  const stored = byKind[kind].get(nameKey({ namespace, name }));
  const isSame = stored?.metadata.uid === uid && stored.metadata.resourceVersion === resourceVersion;
  return isSame ? stored : slimObject(kind, read, stored);
}

function failedRead(subject: string, fault: ApiFault): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: `${subject} could not be reread: ${fault.message}` };
}
