// Summarizes the reported state of all WAFs, for `wafsync status` and the page.
import packageJson from "../../package.json" with { type: "json" };
import { formatTime } from "../model/texts.ts";
import type { FeedSummary, InstanceSummary, ObjectSummary, Summary } from "../kinds/summary.ts";
import { summaryEntriesMax, summaryObjectsMax } from "../kinds/summary.ts";
import type { WafFeedStatus } from "../kinds/waf-feed.ts";
import type { WafInstanceStatus } from "../kinds/waf-instance.ts";
import { nameKey } from "../model/resource.ts";
import { viewObject, approveCommand } from "./object-view.ts";
import type { Seen, SeenObject } from "./targets/target.ts";
import { planningWords, type TargetOptions } from "./targets/open-target.ts";

/** @param options the options that selected the target, for suggested commands */
export function summarize({ objects, atMs, where, gaps }: Seen, options: TargetOptions): Summary {
  const byInstance = Map.groupBy(objects, ({ instance }) => (instance === undefined ? "" : nameKey(instance)));
  const byName = objects.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1));
  const ofKind = (kind: SeenObject["kind"]): SeenObject[] => byName.filter((one) => one.kind === kind);
  const seen = ofKind("WafInstance");
  const instances = seen.map((one) => summarizeInstance(one, byInstance.get(nameKey(one)) ?? [], options));
  for (const one of seen) byInstance.delete(nameKey(one));
  const loose = [...byInstance.values()].flat().filter(({ kind }) => kind !== "WafInstance" && kind !== "WafFeed");
  const unattached = notReady(loose);
  return {
    version: packageJson.version,
    generatedAt: formatTime(atMs),
    where,
    gaps: [...gaps],
    totals: totalsOf(instances, unattached.length),
    instances,
    unattached: unattached.slice(0, summaryObjectsMax),
    feeds: ofKind("WafFeed").map((feed) => summarizeFeed(feed, options)),
  };
}

function summarizeInstance(
  instance: SeenObject,
  attached: readonly SeenObject[],
  options: TargetOptions,
): InstanceSummary {
  const status = (instance.status ?? {}) as Partial<WafInstanceStatus>;
  const { domain, blocklist, allowlist, lastSyncTime, removalsOnHold = [], heldPlan = "" } = status;
  const objects = notReady(attached);
  const held = heldPlan === "" ? {} : { heldPlan, approve: approveCommand(planningWords(options, instance), instance) };
  return {
    instance: nameKey(instance),
    domain,
    suspended: instance.suspend === true,
    ...readyOf(instance),
    blocklist,
    allowlist,
    lastSyncTime,
    rules: attached.filter(({ kind }) => kind === "WafIpRule").length,
    origins: attached.filter(({ kind }) => kind === "WafOrigin").length,
    notReady: objects.length,
    objects: objects.slice(0, summaryObjectsMax),
    onHold: [...removalsOnHold],
    ...held,
  };
}

/** Everything that refers to the instance. */
export function objectsOf({ objects }: Seen, instance: string): ObjectSummary[] {
  return objects.filter((one) => one.instance !== undefined && nameKey(one.instance) === instance).map(summarizeObject);
}

function notReady(objects: readonly SeenObject[]): ObjectSummary[] {
  return objects.map(summarizeObject).filter(({ ready }) => ready !== "True");
}

function summarizeObject(object: SeenObject): ObjectSummary {
  const { namespace, name, rejected, ...view } = viewObject(object);
  return { ...view, name: nameKey({ namespace, name }), rejected: rejected.slice(0, summaryEntriesMax) };
}

function readyOf(object: SeenObject): Pick<ObjectSummary, "ready" | "reason" | "message"> {
  const { ready, reason, message } = viewObject(object);
  return { ready, reason, message };
}

function summarizeFeed(feed: SeenObject, { from }: TargetOptions): FeedSummary {
  const status = (feed.status ?? {}) as Partial<WafFeedStatus>;
  const { entries, lastGoodTime, lastChangeTime, nextFetchTime, held } = status;
  return {
    feed: nameKey(feed),
    ...readyOf(feed),
    entries: entries?.used,
    invalid: entries?.invalid,
    lastGoodTime,
    lastChangeTime,
    nextFetchTime,
    heldContent: held && {
      hash: held.hash,
      reason: held.reason,
      entries: held.entries,
      accept: acceptWords(feed, held.hash, from === undefined),
    },
  };
}

function acceptWords({ namespace, name }: SeenObject, hash: string, isCluster: boolean): string {
  const annotation = "wafsync.dev/accept-feed";
  if (!isCluster) return `${annotation}: "${hash}"`;
  return `kubectl annotate waffeed ${name} -n ${namespace} --overwrite ${annotation}=${hash}`;
}

function totalsOf(instances: readonly InstanceSummary[], unattached: number): Summary["totals"] {
  const sum = (of: (instance: InstanceSummary) => number): number =>
    instances.reduce((total, instance) => total + of(instance), 0);
  const having = (ready: InstanceSummary["ready"]): number => sum((instance) => (instance.ready === ready ? 1 : 0));
  return {
    instances: instances.length,
    ready: having("True"),
    notReady: having("False") + unattached,
    unknown: having("Unknown"),
    unattached,
    blocked: sum(({ blocklist }) => blocklist?.live ?? 0),
    allowed: sum(({ allowlist }) => allowlist?.live ?? 0),
    pending: sum(pendingOf),
    onHold: sum(heldOf),
  };
}

/** The number of objects other than instances that are not Ready. */
export function objectsNotReady({ instances, totals, feeds }: Summary): number {
  const attached = instances.reduce((total, { notReady: count }) => total + count, 0);
  return attached + totals.unattached + feeds.filter(({ ready }) => ready !== "True").length;
}

function pendingOf({ blocklist, allowlist }: InstanceSummary): number {
  return (blocklist?.pending ?? 0) + (allowlist?.pending ?? 0);
}

function heldOf({ blocklist, allowlist }: InstanceSummary): number {
  return (blocklist?.held ?? 0) + (allowlist?.held ?? 0);
}

/** The counts of an instance in tables; undefined before the first read. */
export const countColumns = [
  { title: "Blocked", count: ({ blocklist }) => blocklist?.live },
  { title: "Allowed", count: ({ allowlist }) => allowlist?.live },
  { title: "Pending", count: (instance) => instance.blocklist && pendingOf(instance) },
  { title: "On hold", count: (instance) => instance.blocklist && heldOf(instance) },
] as const satisfies readonly { title: string; count: (instance: InstanceSummary) => number | undefined }[];

const needs = { False: 0, Unknown: 1, True: 2 } as const;

/** What needs attention comes first. */
export function byNeed<Shown extends Pick<ObjectSummary, "ready"> & { readonly notReady?: number }>(
  shown: readonly Shown[],
): Shown[] {
  const needOf = ({ ready, notReady: count = 0 }: Shown): number => needs[ready] - Math.min(count, 1) / 2;
  return shown.toSorted((a, b) => needOf(a) - needOf(b));
}

/** Why it is not Ready; empty if only removals are on hold, which are shown by the rule that last declared the entries. */
export function waitReason({ ready, reason, message, onHold }: InstanceSummary): string {
  return ready === "True" || (onHold.length > 0 && reason === "Held") ? "" : message;
}
