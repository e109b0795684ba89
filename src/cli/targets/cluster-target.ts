// The instances of a cluster, read with the permissions of the user. Records and Secrets are optional: few users can read them,
// and the result says what is missing.
import packageJson from "../../../package.json" with { type: "json" };
import { readEnvironment } from "../../app/config.ts";
import { realClock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { createApiServer } from "../../kube/api-server.ts";
import { kubeConfigCredentials } from "../../kube/credentials.ts";
import { validateApiKey } from "../../model/api-key.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { Entry } from "../../model/entry.ts";
import type { GatheredKey } from "../../model/gathered.ts";
import { Redactor } from "../../model/redactor.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { FeedRecords } from "../../source/cluster/feed-records.ts";
import { LogRecords } from "../../source/cluster/log-records.ts";
import { readHistory } from "../../source/cluster/history-records.ts";
import { createInventoryRecords } from "../../source/cluster/inventory-records.ts";
import { listInstances, readFeed, readInstanceOnce } from "../../source/cluster/read-cluster.ts";
import { CommandError } from "../describe-error.ts";
import { readKubeConfig } from "../read-kube-config.ts";
import { approveInCluster, readHolds } from "./approve-cluster.ts";
import { withRecordedBlocks } from "./judged-rules.ts";
import { viewOfFeed, withFeedTexts } from "./feed-texts.ts";
import { readLiveLists } from "./live-lists.ts";
import { busy, isReconciling } from "./reported-status.ts";
import type { ChangeOutcome, RuleChanges, WaitOptions } from "./rule-changes.ts";
import { changeInCluster } from "./settle-cluster.ts";
import type { InstanceSight, LiveLists, LookOptions, OnHold, Target, TargetOptions } from "./target.ts";
import { policyOf } from "./target.ts";

export interface ClusterTarget extends Target {
  readonly api: ApiServer;
  /** Of `-n`, or of the context. */
  readonly namespace: string;
}

export function openCluster(options: TargetOptions): ClusterTarget {
  const { kubeConfig, contextNamespace } = readKubeConfig(options);
  const credentials = kubeConfigCredentials(kubeConfig);
  const api = createApiServer({ credentials, clock: realClock, userAgent: `wafsync/${packageJson.version}` });
  return new OpenedCluster(options, api, options.namespace ?? contextNamespace);
}

class OpenedCluster implements ClusterTarget {
  readonly where: string;
  readonly redactor = new Redactor();
  readonly api: ApiServer;
  readonly namespace: string;
  readonly #options: TargetOptions;

  constructor(options: TargetOptions, api: ApiServer, namespace: string) {
    this.#options = options;
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

  async look(instance: ObjectName, { live, blocked }: LookOptions): Promise<InstanceSight> {
    const found = await readInstanceOnce(this.api, realClock, instance);
    if (!found.ok) throw new CommandError(found.problem);
    const { gaps, statusOf, setterOf } = found.read;
    const records = new FeedRecords({ api: this.api, mayWrite: () => false, uidOf: () => undefined });
    const fed = await withFeedTexts(found.read.gathered, async (name) => {
      const feed = await readFeed(this.api, name);
      return "problem" in feed ? feed : await viewOfFeed(feed.feed, await records.load(name));
    });
    // Read-only, both.
    const logs = new LogRecords({ api: this.api, holderOf: () => undefined, mayWrite: () => false });
    const gathered = await withRecordedBlocks(fed, async (name) => await logs.load(name));
    const inventories = createInventoryRecords({ api: this.api, holderOf: () => undefined, mayWrite: () => false });
    const loaded = await inventories.load(instance);
    return {
      gathered,
      inventory: loaded.state === "Loaded" ? loaded.inventory : undefined,
      live: live
        ? await this.#live(gathered, statusOf(gathered.instance.meta), blocked)
        : { state: "Unread", why: "This command does not read the WAF." },
      gaps: loaded.state === "Loaded" ? gaps : [...gaps, unreadRecord(instance)],
      placeOf: () => undefined,
      statusOf,
      setterOf: async (meta) => setterOf(meta),
    };
  }

  namespaceOfRules(instance: ObjectName): string {
    return this.#options.namespace ?? instance.namespace;
  }

  async placeOfRule(name: ObjectName): Promise<string> {
    return `WafIpRule ${nameKey(name)}`;
  }

  async change(changes: RuleChanges, wait: WaitOptions | undefined): Promise<ChangeOutcome> {
    return await changeInCluster(this.api, changes, wait);
  }

  async removalsOnHold(instance: ObjectName): Promise<OnHold> {
    return await readHolds(this.api, instance);
  }

  async approve(instance: ObjectName, hash: string): Promise<string> {
    return await approveInCluster(this.api, instance, hash);
  }

  async history(instance: ObjectName) {
    const read = await readHistory(this.api, instance);
    if (read.ok) return read.value;
    if (read.fault.code === "Forbidden") {
      throw new CommandError(
        `you are not allowed to get wafrecords in namespace ${instance.namespace}, which contain the history of ${nameKey(instance)}`,
        "Ask for this permission. For the last hour, see the events of the instance and its rules: kubectl describe wafinstance.",
      );
    }
    throw new CommandError(`the history cannot be read: ${read.fault.message}`);
  }

  async close(): Promise<void> {
    await this.api.close();
  }

  async #live(
    { key, instance }: InstanceSight["gathered"],
    status: unknown,
    blocked: Entry | undefined,
  ): Promise<LiveLists> {
    if (isReconciling(status)) return busy;
    const usable = keyOf(key);
    if (usable === undefined) {
      const { name } = instance.apiKeySecretRef;
      const why = `You are not allowed to get Secret ${instance.meta.namespace}/${name}, and the environment variable WAFSYNC_API_KEY is not set.`;
      return { state: "Unread", why };
    }
    this.redactor.add(usable);
    return await readLiveLists(instance, usable, { policy: policyOf(this.#options), redactor: this.redactor, blocked });
  }
}

function keyOf(key: GatheredKey): ApiKey | undefined {
  if (key.state === "Present") return key.key;
  const text = readEnvironment().apiKey;
  const validated = text === undefined ? undefined : validateApiKey(text);
  return validated?.ok === true ? validated.key : undefined;
}

function unreadRecord({ namespace }: ObjectName): string {
  return `You are not allowed to list wafrecords in namespace ${namespace}, which record the managed entries and their times.`;
}
