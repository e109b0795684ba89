// Summarizes the reported state of all WAFs, with the same views as `wafsync status`.
import { formatTime } from "../../api/conditions.ts";
import type { FeedSummary, InstanceSummary, Summary } from "../../api/summary.ts";
import { summaryObjectsMax } from "../../api/summary.ts";
import type { WafFeedStatus } from "../../api/waf-feed.ts";
import { nameKey, resourceKey } from "../../model/resource.ts";
import { conditionOf, viewStatus } from "../status-view.ts";
import type { Seen, SeenAttached, SeenInstance, SeenObject } from "../targets/seen.ts";
import { attachedByInstance } from "../targets/seen.ts";

export interface SummaryWords {
  readonly version: string;
  /** The options that select the target of an instance in suggested commands that plan. */
  readonly words: (instance: SeenInstance) => string;
  /** Whether objects are changed with kubectl. */
  readonly isCluster: boolean;
}

export function summarize(seen: Seen, words: SummaryWords): Summary {
  const attached = attachedByInstance(seen);
  const instances = seen.instances.map((instance) =>
    summarizeInstance(instance, attached.get(nameKey(instance)) ?? [], words),
  );
  return {
    version: words.version,
    generatedAt: formatTime(seen.atMs),
    where: seen.where,
    ...(seen.refused === undefined ? {} : { refused: seen.refused }),
    gaps: [...seen.gaps],
    totals: totalsOf(instances),
    instances,
    feeds: seen.feeds.map((feed) => summarizeFeed(feed, words)),
  };
}

function summarizeInstance(
  instance: SeenInstance,
  attached: readonly SeenAttached[],
  { words }: SummaryWords,
): InstanceSummary {
  const statuses = new Map([instance, ...attached].map((object) => [resourceKey(object), object.status]));
  const {
    gaps: _gaps,
    objects,
    ready,
    ...view
  } = viewStatus({
    instance: { namespace: instance.namespace, name: instance.name },
    rules: attached.filter(({ kind }) => kind === "WafIpRule"),
    origins: attached.filter(({ kind }) => kind === "WafOrigin"),
    statusOf: (object) => statuses.get(resourceKey(object)),
    gaps: [],
    words: words(instance),
  });
  const heldPlan = instance.status?.["heldPlan"];
  return {
    ...view,
    ready: readyOf(ready),
    suspended: instance.isSuspended,
    onHold: [...view.onHold],
    notReady: objects.length,
    objects: objects.slice(0, summaryObjectsMax).map((object) => ({ ...object, ready: readyOf(object.ready) })),
    ...(typeof heldPlan === "string" && heldPlan !== "" ? { heldPlan } : {}),
  };
}

function readyOf(status: string): InstanceSummary["ready"] {
  return status === "True" || status === "False" ? status : "Unknown";
}

function summarizeFeed(feed: SeenObject, { isCluster }: SummaryWords): FeedSummary {
  const status = (feed.status ?? {}) as Partial<WafFeedStatus>;
  const { entries, lastGoodTime, lastChangeTime, nextFetchTime, held } = status;
  const { ready, ...words } = conditionOf(status.conditions);
  return {
    feed: nameKey(feed),
    ready: readyOf(ready),
    ...words,
    ...(entries === undefined ? {} : { entries: entries.used, invalid: entries.invalid }),
    ...(lastGoodTime === undefined ? {} : { lastGoodTime }),
    ...(lastChangeTime === undefined ? {} : { lastChangeTime }),
    ...(nextFetchTime === undefined ? {} : { nextFetchTime }),
    ...(held === undefined
      ? {}
      : {
          heldContent: {
            hash: held.hash,
            reason: held.reason,
            entries: held.entries,
            accept: acceptWords(feed, held.hash, isCluster),
          },
        }),
  };
}

function acceptWords({ namespace, name }: SeenObject, hash: string, isCluster: boolean): string {
  const annotation = "wafsync.dev/accept-feed";
  if (!isCluster) return `${annotation}: "${hash}"`;
  return `kubectl annotate waffeed ${name} -n ${namespace} --overwrite ${annotation}=${hash}`;
}

function totalsOf(instances: readonly InstanceSummary[]): Summary["totals"] {
  const sum = (of: (instance: InstanceSummary) => number): number =>
    instances.reduce((total, instance) => total + of(instance), 0);
  const having = (ready: InstanceSummary["ready"]): number => sum((instance) => (instance.ready === ready ? 1 : 0));
  return {
    instances: instances.length,
    ready: having("True"),
    notReady: having("False"),
    unknown: having("Unknown"),
    blocked: sum(({ blocklist }) => blocklist?.live ?? 0),
    allowed: sum(({ allowlist }) => allowlist?.live ?? 0),
    pending: sum(pendingOf),
    onHold: sum(heldOf),
  };
}

export function pendingOf({ blocklist, allowlist }: InstanceSummary): number {
  return (blocklist?.pending ?? 0) + (allowlist?.pending ?? 0);
}

export function heldOf({ blocklist, allowlist }: InstanceSummary): number {
  return (blocklist?.held ?? 0) + (allowlist?.held ?? 0);
}
