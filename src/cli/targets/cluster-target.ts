// The instances of a cluster, read with the permissions of the user. Records and Secrets are optional: few users can read them,
// and the result says what is missing.
import packageJson from "../../../package.json" with { type: "json" };
import type { CalledWaf, CallWaf, ReadingWaf } from "../../app/waf-clients.ts";
import { readEnvironment } from "../../app/config.ts";
import { realClock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { createApiServer } from "../../kube/api-server.ts";
import { kubeConfigCredentials } from "../../kube/credentials.ts";
import { validateApiKey } from "../../model/api-key.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { Gathered } from "../../model/gathered.ts";
import { Redactor } from "../../model/redactor.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { ClusterRecordStore } from "../../records/cluster-record-store.ts";
import { FeedRecords } from "../../records/feed-records.ts";
import { HistoryRecords } from "../../records/history-records.ts";
import { createInventoryRecords } from "../../records/inventory-records.ts";
import { LogRecords } from "../../records/log-records.ts";
import { listInstances, readFeed, readInstanceOnce } from "../../source/cluster/read-cluster.ts";
import { CommandError } from "../describe-error.ts";
import { readKubeConfig } from "../read-kube-config.ts";
import { approveInCluster, readHolds } from "./approve-cluster.ts";
import { withRecordedBlocks } from "./judged-rules.ts";
import { viewOfFeed, withFeedTexts } from "./feed-texts.ts";
import { commandCalls, readLists } from "./live-lists.ts";
import { busy, isReconciling } from "./reported-status.ts";
import type { ChangeOutcome, RuleChanges, WaitOptions } from "./rule-changes.ts";
import { keptOnSuccess } from "./rule-changes.ts";
import { changeInCluster, deleteRule } from "./settle-cluster.ts";
import { seeCluster } from "./see-cluster.ts";
import type { Seen } from "./seen.ts";
import type { InstanceSight, LookOptions, OnHold, Target, TargetOptions, UnreadSight } from "./target.ts";
import { policyOf, recorded, unrecorded, withLists } from "./target.ts";

export interface ClusterTarget extends Target {
  readonly api: ApiServer;
  /** The namespace of `-n`, or of the context. */
  readonly namespace: string;
}

export function openCluster(options: TargetOptions): ClusterTarget {
  const { kubeConfig, contextNamespace } = readKubeConfig(options);
  const credentials = kubeConfigCredentials(kubeConfig);
  const api = createApiServer({ credentials, clock: realClock, userAgent: `wafsync/${packageJson.version}` });
  const redactor = new Redactor();
  return clusterTarget({
    api,
    redactor,
    namespace: options.namespace ?? contextNamespace,
    ruleNamespace: options.namespace,
    call: commandCalls({ policy: policyOf(options), redactor }),
    keyOf: keyOfUser,
    close: () => api.close(),
    see: async (namespace = options.namespace) =>
      await seeCluster(api, { namespace, fallback: contextNamespace }, realClock.nowMs()),
  });
}

export interface ClusterParts {
  readonly api: ApiServer;
  readonly redactor: Redactor;
  /** The namespace whose instances are listed. */
  readonly namespace: string;
  /** The namespace for the rules of commands; undefined for the namespace of the instance. */
  readonly ruleNamespace: string | undefined;
  readonly call: CallWaf;
  readonly keyOf: (gathered: Gathered) => CalledWaf<ApiKey>;
  readonly see: Target["see"];
  readonly close: () => void;
}

export function clusterTarget(parts: ClusterParts): ClusterTarget {
  return new OpenedCluster(parts);
}

class OpenedCluster implements ClusterTarget {
  readonly where: string;
  readonly redactor: Redactor;
  readonly api: ApiServer;
  readonly namespace: string;
  readonly #parts: ClusterParts;

  constructor(parts: ClusterParts) {
    const { api, namespace, redactor } = parts;
    this.#parts = parts;
    this.redactor = redactor;
    this.api = api;
    this.namespace = namespace;
    this.where = `in namespace ${namespace}`;
  }

  async instances(): Promise<readonly ObjectName[]> {
    const listed = await listInstances(this.api, this.namespace);
    if (listed.ok) return listed.value;
    const { code, message } = listed.fault;
    if (code === "Forbidden") {
      throw new CommandError(
        `you are not allowed to list wafinstances in namespace ${this.namespace}`,
        "Ask for this permission, or use --instance NAMESPACE/NAME with an instance that you can get.",
      );
    }
    const hint = code === "NotFound" ? "The wafsync CRDs are not installed in this cluster." : undefined;
    throw new CommandError(`the instances cannot be listed: ${message}`, hint);
  }

  async look(instance: ObjectName, options: LookOptions): Promise<InstanceSight> {
    const found = await readInstanceOnce(this.api, realClock, instance);
    if (!found.ok) throw new CommandError(found.problem);
    const { gaps, statusOf, setterOf, unattached } = found.read;
    const records = this.#records();
    const fed = await withFeedTexts(found.read.gathered, async (name) => {
      const feed = await readFeed(this.api, name);
      return "problem" in feed ? feed : await viewOfFeed(feed.feed, await new FeedRecords(records).load(name));
    });
    const gathered = await withRecordedBlocks(fed, async (name) => await new LogRecords(records).load(name));
    const loaded = await createInventoryRecords(records).load(instance);
    const sight: UnreadSight = {
      gathered,
      inventory: recorded(loaded),
      unattached,
      gaps: [
        ...gaps,
        ...(loaded.state === "Loaded" ? unrecorded(loaded, instance, "the cluster") : [unreadRecord(instance)]),
      ],
      placeOf: () => undefined,
      statusOf,
      setterOf: async (meta) => setterOf(meta),
    };
    const declaredKey = { instance: gathered.instance, isInFolder: false };
    return await withLists(
      sight,
      options,
      async (blocked) => await this.callWaf(sight, async (waf) => await readLists(waf, declaredKey, blocked)),
    );
  }

  async see(namespace?: string): Promise<Seen> {
    return await this.#parts.see(namespace);
  }

  async callWaf<T>({ gathered, statusOf }: UnreadSight, work: (waf: ReadingWaf) => Promise<T>): Promise<CalledWaf<T>> {
    const { instance } = gathered;
    if (isReconciling(statusOf(instance.meta))) return busy;
    const usable = this.#parts.keyOf(gathered);
    if (!usable.ok) return usable;
    this.redactor.add(usable.value);
    return await this.#parts.call(instance, usable.value, work);
  }

  namespaceOfRules(instance: ObjectName): string {
    return this.#parts.ruleNamespace ?? instance.namespace;
  }

  async placeOfRule(name: ObjectName): Promise<string> {
    return `WafIpRule ${nameKey(name)}`;
  }

  async change(changes: RuleChanges, wait: WaitOptions | undefined): Promise<ChangeOutcome> {
    return await changeInCluster(this.api, changes, wait);
  }

  async tidy(rules: readonly ObjectName[]): Promise<readonly ObjectName[]> {
    return await keptOnSuccess(rules, async (rule) => await deleteRule(this.api, rule));
  }

  async removalsOnHold(instance: ObjectName): Promise<OnHold> {
    return await readHolds(this.api, instance);
  }

  async approve(instance: ObjectName, hash: string): Promise<string> {
    return await approveInCluster(this.api, instance, hash);
  }

  async history(instance: ObjectName) {
    const read = await new HistoryRecords(this.#records(), () => realClock.nowMs()).read(instance);
    if (read.ok) return read.events;
    if (read.isForbidden) {
      throw new CommandError(
        `you are not allowed to list wafrecords in namespace ${instance.namespace}, which contain the history of ${nameKey(instance)}`,
        "Ask for this permission. For the last hour, see the events of the instance and its rules: kubectl describe wafinstance.",
      );
    }
    throw new CommandError(`the history cannot be read: ${read.problem}`);
  }

  async close(): Promise<void> {
    this.#parts.close();
  }

  #records(): ClusterRecordStore {
    return new ClusterRecordStore({ api: this.api, ownerOf: () => undefined, mayWrite: () => false });
  }
}

function keyOfUser({ key, instance }: Gathered): CalledWaf<ApiKey> {
  if (key.state === "Present") return { ok: true, value: key.key };
  const text = readEnvironment().apiKey;
  const validated = text === undefined ? undefined : validateApiKey(text);
  if (validated?.ok === true) return { ok: true, value: validated.key };
  const { name } = instance.apiKeySecretRef;
  const problem = `You are not allowed to get Secret ${instance.meta.namespace}/${name}, and the environment variable WAFSYNC_API_KEY is not set.`;
  return { ok: false, problem };
}

function unreadRecord({ namespace }: ObjectName): string {
  return `You are not allowed to list wafrecords in namespace ${namespace}, which record the managed entries and their times.`;
}
