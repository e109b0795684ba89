// The instances of a cluster, read with the permissions of the user. Records and Secrets are optional: few users can read them,
// and the result says what is missing. Rules of commands are written to it; a rule that is to be deleted expires first, and is
// deleted when its status reports that its entries are removed.
import * as z from "zod";
import packageJson from "../../../package.json" with { type: "json" };
import { readEnvironment } from "../../app/config.ts";
import type { CalledWaf, CallWaf } from "../../app/waf-clients.ts";
import { realClock } from "../../async/clock.ts";
import { findCondition } from "../../kinds/conditions.ts";
import type { WafInstanceStatus } from "../../kinds/waf-instance.ts";
import { type ApiFault, type ApiResult, type ApiServer, createApiServer } from "../../kube/api-server.ts";
import { kubeConfigCredentials } from "../../kube/credentials.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { createObject, deleteObject, getObject, listObjects, mergePatchObject } from "../../kube/verbs.ts";
import { type ApiKey, validateApiKey } from "../../model/api-key.ts";
import {
  approvalAnnotation,
  guestKinds,
  type ObjectName,
  nameKey,
  type ResourceKind,
  type ResourceMeta,
} from "../../model/resource.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Redactor } from "../../model/redactor.ts";
import { ClusterRecordStore } from "../../records/cluster-record-store.ts";
import { type ClusterObject, instanceNameOf, typeOfKind } from "../../source/cluster/cluster-object.ts";
import { listTimeoutMs, requestTimeoutMs as timeoutMs } from "../../source/cluster/fresh-objects.ts";
import { listForUser, readFeed, readInstanceOnce, whereOf } from "../../source/cluster/read-cluster.ts";
import { type CommandRule, createdByAnnotation, requestedByAnnotation, ruleDocument } from "../command-rule.ts";
import type { Reported } from "../object-view.ts";
import { CommandError } from "../describe-error.ts";
import { readKubeConfig } from "../read-kube-config.ts";
import type { Session } from "../session.ts";
import { type WafWork, commandCalls, type TargetOptions } from "./open-target.ts";
import {
  type DeclaredSight,
  type OnHold,
  type Progress,
  progressOf,
  type Seen,
  type SeenObject,
  Target,
  type InstanceSight,
} from "./target.ts";

const ruleQuery = { fieldManager: "wafsync-block" };
const instanceType = typeOfKind("WafInstance");
const ruleType = typeOfKind("WafIpRule");

/** An instance or a rule. */
interface ReportedObject extends KubeObject {
  readonly status?: Reported & Pick<Partial<WafInstanceStatus>, "heldPlan" | "removalsOnHold">;
}

export function openCluster(options: TargetOptions, session: Session, how?: WafWork): Target {
  const { api, namespace: ofContext } = openApi(options, session);
  const namespace = options.allNamespaces === true ? undefined : (options.namespace ?? ofContext);
  return new ClusterTarget(api, namespace, session.redactor, commandCalls(options, session, how));
}

type ClusterOptions = Pick<TargetOptions, "kubeconfig" | "context">;

/** @throws CommandError if there is no cluster */
function openApi(options: ClusterOptions, session: Session): { readonly api: ApiServer; readonly namespace: string } {
  const kubeConfig = readKubeConfig(options);
  const credentials = kubeConfigCredentials(kubeConfig);
  const api = createApiServer({ credentials, clock: realClock, userAgent: `wafsync/${packageJson.version}` });
  session.atEnd(async () => api.close());
  return { api, namespace: kubeConfig.namespace ?? "default" };
}

/** The records of folders, which belong to no object in the cluster. @throws CommandError if there is no cluster */
export function openRecords(options: ClusterOptions, session: Session): ClusterRecordStore {
  const { api } = openApi(options, session);
  return new ClusterRecordStore({ api, ownerOf: () => ({ uid: undefined, retains: true }), mayWrite: () => true });
}

class ClusterTarget extends Target {
  readonly where: string;
  protected readonly recordsAt = "the cluster";
  readonly #api: ApiServer;
  readonly #namespace: string | undefined;
  /** The generation of each rule that was patched. */
  readonly #written = new Map<string, number | undefined>();
  /** Asked once for all rules of a command. */
  #user: Promise<string | undefined> | undefined;

  constructor(api: ApiServer, namespace: string | undefined, redactor: Redactor, call: CallWaf) {
    super(redactor, call, new ClusterRecordStore({ api, ownerOf: () => undefined, mayWrite: () => false }));
    this.#api = api;
    this.#namespace = namespace;
    this.where = whereOf(namespace);
  }

  async instances(): Promise<readonly ObjectName[]> {
    const listed = await listInstances(this.#api, this.#namespace);
    if (listed.ok) return listed.value.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1));
    throw unlisted(listed.fault, this.where, "use --instance NAMESPACE/NAME with an instance that you can get");
  }

  protected async readDeclared(instance: ObjectName): Promise<DeclaredSight> {
    const found = await readInstanceOnce(this.#api, realClock, instance);
    if (!found.ok) throw new CommandError(found.problem);
    return { ...found.read, readFeed: async (name) => await readFeed(this.#api, name), placeOf: () => undefined };
  }

  /** Other kinds that cannot be listed are reported as gaps. */
  async see(namespace = this.#namespace): Promise<Seen> {
    const atMs = realClock.nowMs();
    const where = whereOf(namespace);
    const instances = await listInstances(this.#api, namespace);
    if (!instances.ok) throw unlisted(instances.fault, where, "choose another namespace with -n");
    const objects = [...instances.value];
    const gaps: string[] = [];
    const concerns = (one: SeenObject): boolean =>
      namespace === undefined || [one.namespace, one.instance?.namespace].includes(namespace);
    for (const kind of [...guestKinds, "WafFeed"] as const) {
      // Objects of other namespaces may refer to the instances of this one.
      const listed = await listForUser(this.#api, kind, namespace, (gap) => gaps.push(gap), kind !== "WafFeed");
      objects.push(...listed.objects.map((object) => seenObject(kind, object)).filter(concerns));
    }
    return { atMs, where, objects, gaps };
  }

  protected keyOf({ key, instance }: Gathered): CalledWaf<ApiKey> {
    if (key.state === "Present") return { ok: true, value: key.key };
    const text = readEnvironment().apiKey;
    const validated = text === undefined ? undefined : validateApiKey(text);
    if (validated?.ok === true) return { ok: true, value: validated.key };
    const { name } = instance.apiKeySecretRef;
    const problem = `You are not allowed to get Secret ${instance.meta.namespace}/${name}, and the environment variable WAFSYNC_API_KEY is not set.`;
    return { ok: false, problem };
  }

  isBusy({ gathered, statusOf }: InstanceSight): boolean {
    const { conditions = [] } = (statusOf(gathered.instance.meta) ?? {}) as Reported;
    return findCondition(conditions, "Reconciling")?.status === "True";
  }

  async placeOfRule(name: ObjectName): Promise<string> {
    return `WafIpRule ${nameKey(name)}`;
  }

  protected async putRule(rule: CommandRule, isNew: boolean): Promise<void> {
    const api = this.#api;
    this.#user ??= userOf(api);
    const body = ruleDocument(rule, await this.#user);
    const { spec, metadata } = body;
    const options = { timeoutMs, query: ruleQuery };
    if (isNew) {
      const created = await createObject<ReportedObject>(api, ruleType, rule.namespace, body, options);
      if (created.ok) return;
      if (created.fault.code !== "AlreadyExists") throw refusedRule("create", rule, created.fault);
      const found = await getObject<ReportedObject>(api, ruleType, rule, { timeoutMs });
      if (!found.ok) throw refusedRule("get", rule, found.fault);
      if (found.value.metadata.annotations?.[createdByAnnotation] === undefined) {
        throw new CommandError(
          `WafIpRule ${nameKey(rule)} already exists, but was not written by a wafsync command`,
          "Edit the rule directly.",
        );
      }
    }
    // Fields that only the earlier command set are removed.
    const annotations = { [requestedByAnnotation]: null, ...metadata.annotations };
    const patch = {
      metadata: { annotations },
      spec: { ...spec, expiresAt: spec.expiresAt ?? null, description: spec.description ?? null },
    };
    const patched = await mergePatchObject<ReportedObject>(api, ruleType, rule, patch, options);
    if (patched.ok) this.#written.set(nameKey(rule), patched.value.metadata.generation);
    else if (isNew || patched.fault.code !== "NotFound") throw refusedRule("patch", rule, patched.fault);
  }

  async deleteRule(rule: ResourceMeta): Promise<void> {
    const known = this.#written.get(nameKey(rule)) ?? rule.generation;
    for (;;) {
      const read = await getObject<ReportedObject>(this.#api, ruleType, rule, { timeoutMs });
      if (!read.ok && read.fault.code !== "NotFound") throw refusedRule("get", rule, read.fault);
      if (!read.ok || read.value.metadata.uid !== rule.uid || read.value.metadata.generation !== known) return;
      const preconditions = { uid: rule.uid, resourceVersion: read.value.metadata.resourceVersion };
      const deleted = await deleteObject(this.#api, ruleType, rule, { timeoutMs, preconditions });
      if (deleted.ok || deleted.fault.code === "NotFound") return;
      // Perhaps only its status has changed.
      if (deleted.fault.code !== "Conflict") throw refusedRule("delete", rule, deleted.fault);
    }
  }

  protected async reportOn(rule: CommandRule): Promise<Progress> {
    const read = await getObject<ReportedObject>(this.#api, ruleType, rule, { timeoutMs });
    if (read.ok) return progressOf(read.value.status, read.value.metadata.generation ?? 0);
    if (read.fault.code === "NotFound") return { state: "Settled", message: "" };
    if (read.fault.code === "Forbidden") throw refusedRule("get", rule, read.fault);
    return { state: "Open", message: read.fault.message };
  }

  async isFollowed(): Promise<boolean> {
    return true;
  }

  async removalsOnHold(instance: ObjectName): Promise<OnHold> {
    const read = await getObject<ReportedObject>(this.#api, instanceType, instance, { timeoutMs });
    if (!read.ok) throw refused("get", instance, read.fault);
    const { heldPlan, removalsOnHold: groups = [] } = read.value.status ?? {};
    const reported = { hash: heldPlan === "" ? undefined : heldPlan, groups };
    if (reported.hash === undefined) return reported;
    // The status has examples. All entries take more permissions, and the operator decides.
    const now = await this.heldNow(instance).catch(({ message }: Error) => message);
    if (typeof now === "string") return { ...reported, gap: now };
    return now.hash === reported.hash ? now : { ...reported, gap: "they have changed since the last reconciliation" };
  }

  async approve(instance: ObjectName, hash: string): Promise<string> {
    const body = { metadata: { annotations: { [approvalAnnotation]: hash } } };
    const options = { timeoutMs, query: { fieldManager: "wafsync-approve" } };
    const patched = await mergePatchObject(this.#api, instanceType, instance, body, options);
    if (!patched.ok) throw refused("patch", instance, patched.fault);
    return `WafInstance ${nameKey(instance)}`;
  }
}

const selfReview = z.object({ status: z.object({ userInfo: z.object({ username: z.string().min(1).max(256) }) }) });

/** Who asks, as the API server knows the user: `kubectl auth whoami`. Undefined if it does not say. */
async function userOf(api: ApiServer): Promise<string | undefined> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const asked = await api.request({ method: "POST", path, body, timeoutMs });
  return asked.ok ? selfReview.safeParse(asked.value).data?.status.userInfo.username : undefined;
}

function unlisted(fault: ApiFault, where: string, other: string): CommandError {
  return refusal(fault, `list wafinstances ${where}`, "the wafsync CRDs are not installed in this cluster", other);
}

function refused(verb: string, { namespace, name }: ObjectName, fault: ApiFault): CommandError {
  const missing = `there is no WafInstance ${namespace}/${name}`;
  const other = "ask the owner of the instance to approve";
  return refusal(fault, `${verb} wafinstances in namespace ${namespace}`, missing, other);
}

function refusedRule(verb: string, { namespace, name }: ObjectName, fault: ApiFault): CommandError {
  const missing = `WafIpRule ${namespace}/${name} cannot be written: namespace ${namespace} does not exist, or the wafsync CRDs are not installed`;
  const other = "use -n with a namespace in which you can write rules and that has access to the instance";
  return refusal(fault, `${verb} wafiprules in namespace ${namespace}`, missing, other);
}

/**
 * Why the API server did not do this.
 * @param missing what it means that an object is missing
 * @param other what else a user without the permission can do
 */
function refusal({ code, message }: ApiFault, what: string, missing: string, other: string): CommandError {
  if (code === "NotFound") return new CommandError(missing);
  if (code !== "Forbidden") return new CommandError(`wafsync cannot ${what}: ${message}`);
  return new CommandError(`you are not allowed to ${what}`, `Ask for this permission, or ${other}.`);
}

async function listInstances(api: ApiServer, namespace?: string): Promise<ApiResult<readonly SeenObject[]>> {
  const listed = await listObjects<ClusterObject>(api, instanceType, { namespace, timeoutMs: listTimeoutMs });
  if (!listed.ok) return listed;
  return { ...listed, value: listed.value.items.map((object) => seenObject("WafInstance", object)) };
}

function seenObject(kind: ResourceKind, object: ClusterObject): SeenObject {
  const { namespace = "", name } = object.metadata;
  const { description, baseUrl, suspend } = (object.spec ?? {}) as Partial<SeenObject>;
  const status = object.status as SeenObject["status"];
  return { kind, namespace, name, status, instance: instanceNameOf(object), description, baseUrl, suspend };
}
