// The result of `why` for one address on one WAF, as plain data.
import type { Condition } from "../api/conditions.ts";
import { findCondition, formatTime } from "../api/conditions.ts";
import { realClock } from "../async/clock.ts";
import { inSlices } from "../async/time-slices.ts";
import { AddressCover } from "../address/ranges.ts";
import type { Entry } from "../address/entry.ts";
import type { FieldSetter, ResourceMeta } from "../model/resource.ts";
import { nameKey, resourceKey } from "../model/resource.ts";
import { shortened } from "../model/sentence.ts";
import type { Covering, Examined, Explanation, Ineffective, Verdict, Wanting } from "../plan/instance/explain.ts";
import { examineInSlices, explainAddress } from "../plan/instance/explain.ts";
import type { LastBlocked } from "./last-blocked.ts";
import type { Reported } from "./targets/rule-changes.ts";
import { isReportedSynced } from "./targets/rule-changes.ts";
import type { InstanceSight } from "./targets/target.ts";

const pathLengthMax = 120;

export interface OwnerView {
  readonly kind: ResourceMeta["kind"];
  readonly rule: string;
  readonly action: "Block" | "Allow";
  readonly description?: string;
  /** Each as `rules.yaml:12` in a folder, otherwise as `spec.addresses[3]` or a line of a ConfigMap. */
  readonly places: readonly string[];
  /** Why a WafAutoBlock lists it. */
  readonly evidence?: string;
  readonly until?: string;
  readonly changedBy?: string;
  readonly changedAt?: string;
}

export interface CoveringView {
  readonly list: string;
  readonly entry: Entry;
  /** The spelling in the list, if it differs. */
  readonly spelling?: string;
  readonly state: "OnList" | "NotOnList" | "Unknown";
  readonly management: "Managed" | "Unmanaged" | "Unknown";
  readonly since?: string;
  readonly manner?: string;
  readonly owners: readonly OwnerView[];
  readonly formerOwners: readonly string[];
  /** How many declared entries a merged network stands for. */
  readonly lines?: number;
  /** Why it is not on the list, or what will happen to it. */
  readonly note?: string;
}

export interface BlockedRequestView {
  readonly time: string;
  readonly client: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly reason: string;
}

export interface WhyView {
  readonly instance: string;
  readonly domain?: string;
  readonly verdict: Verdict;
  readonly coverings: readonly CoveringView[];
  /** Rules that declare the address without effect. */
  readonly ineffective: readonly {
    readonly kind: ResourceMeta["kind"];
    readonly rule: string;
    readonly places: readonly string[];
    readonly message: string;
  }[];
  /** Absent if the instance does not use the logs, or if they were not read. */
  readonly lastBlockedRequest?: BlockedRequestView;
  /** The first day that was searched, if no blocked request was found. */
  readonly noBlockedRequestSince?: string;
  readonly liveListsRead: boolean;
  readonly gaps: readonly string[];
}

/** An instance, prepared to look addresses up. */
export interface ExaminedSight {
  readonly sight: InstanceSight;
  readonly examined: Examined;
}

export async function examineSight(sight: InstanceSight): Promise<ExaminedSight> {
  const { gathered, inventory, live } = sight;
  const lists = live.state === "Read" ? live.lists : undefined;
  const input = { gathered, live: lists, inventory, nowMs: realClock.nowMs() };
  return { sight, examined: await inSlices(realClock, examineInSlices(input)) };
}

export async function viewWhy(address: Entry, { sight, examined }: ExaminedSight): Promise<WhyView> {
  const { gathered, inventory, live } = sight;
  const explanation = explainAddress(address, examined);
  const { meta } = gathered.instance;
  const domain = inventory?.domain ?? (sight.statusOf(meta)?.["domain"] as string | undefined);
  const last = live.state === "Read" ? live.lastBlocked : undefined;
  const unread =
    live.state === "Read"
      ? []
      : [`The lists of the WAF were not read, so this shows only the declared state. ${live.why}`];
  return {
    instance: nameKey(meta),
    ...(domain === undefined ? {} : { domain }),
    verdict: explanation.verdict,
    coverings: await Promise.all(explanation.coverings.map(async (covering) => await viewCovering(covering, sight))),
    ineffective: viewIneffective([...explanation.ineffective, ...unattachedIn(address, sight)], sight),
    ...viewLastBlocked(last),
    liveListsRead: live.state === "Read",
    gaps: [...unread, ...(last?.gap === undefined ? [] : [last.gap]), ...sight.gaps],
  };
}

function viewLastBlocked(last: LastBlocked | undefined): Pick<WhyView, "lastBlockedRequest" | "noBlockedRequestSince"> {
  if (last === undefined) return {};
  if (last.entry === undefined) return { noBlockedRequestSince: last.since };
  const {
    timestamp: time,
    client_ip: client,
    http_method: method,
    http_status: status,
    block_reason: reason,
  } = last.entry;
  // Attackers control the path and its length.
  const path = shortened(last.entry.request_path, pathLengthMax);
  return { lastBlockedRequest: { time, client, method, path, status, reason } };
}

async function viewCovering(covering: Covering, sight: InstanceSight): Promise<CoveringView> {
  const { list, entry, isLive, isManaged, sinceMs, manner, wantedBy, formerOwners, spellings, lines } = covering;
  const other = spellings.find((spelling) => spelling !== entry);
  const note = noteOf(covering, sight);
  const isReported = wantedBy.some(({ rule }) => isReportedSynced(sight.statusOf(rule.meta)));
  const isOn = isLive ?? (isReported ? true : undefined);
  return {
    list,
    entry,
    ...(other === undefined ? {} : { spelling: other }),
    state: isOn === undefined ? "Unknown" : isOn ? "OnList" : "NotOnList",
    management: isManaged === undefined ? reportedManagement(covering, sight) : isManaged ? "Managed" : "Unmanaged",
    ...(sinceMs === undefined ? {} : { since: formatTime(sinceMs) }),
    ...(manner === undefined ? {} : { manner }),
    owners: await Promise.all(wantedBy.map(async (wanting) => await viewOwner(wanting, sight))),
    formerOwners: formerOwners.map(({ kind, name }) => `${kind} ${name}`),
    ...(lines === undefined ? {} : { lines }),
    ...(note === undefined ? {} : { note }),
  };
}

/** For readers who may not read the record: what the status of a rule says about all of its entries. */
function reportedManagement({ wantedBy }: Covering, { statusOf }: InstanceSight): CoveringView["management"] {
  const isForeign = wantedBy.some(({ rule }) => {
    const { desired, foreign = 0 } = (statusOf(rule.meta) as Reported | undefined)?.entries ?? {};
    return foreign > 0 && foreign === desired;
  });
  return isForeign ? "Unmanaged" : "Unknown";
}

async function viewOwner({ rule, sources, evidence, expiresAtMs }: Wanting, sight: InstanceSight): Promise<OwnerView> {
  const setter: FieldSetter | undefined = await sight.setterOf(rule.meta);
  return {
    kind: rule.meta.kind,
    rule: nameKey(rule.meta),
    action: rule.action,
    ...(rule.description === undefined ? {} : { description: rule.description }),
    places: placesOf(rule.meta, evidence === undefined ? sources : [], sight),
    ...(evidence === undefined ? {} : { evidence }),
    ...(expiresAtMs === undefined ? {} : { until: formatTime(expiresAtMs) }),
    ...(setter === undefined ? {} : { changedBy: setter.manager, changedAt: setter.time }),
  };
}

function placesOf(meta: ResourceMeta, sources: readonly string[], { placeOf }: InstanceSight): readonly string[] {
  const whole = meta.kind === "WafAutoBlock" ? placeOf(meta, undefined) : undefined;
  if (whole !== undefined) return [whole];
  return sources.map((source) => {
    const place = placeOf(meta, source);
    if (place === undefined) return source;
    return /^(?:ConfigMap|WafFeed) /u.test(source) ? `${place} (${source})` : place;
  });
}

/** Sources of unattached rules are not read. */
function unattachedIn(address: Entry, { unattached }: InstanceSight): Ineffective[] {
  const cover = new AddressCover(address);
  return unattached.flatMap(({ rule, message }) => {
    const places = rule.addresses.map((text, index) =>
      cover.find(text) === undefined ? "" : `spec.addresses[${index}]`,
    );
    const sources = places.filter((place) => place !== "");
    return sources.length === 0 ? [] : [{ rule, sources, message }];
  });
}

function viewIneffective(ineffective: Explanation["ineffective"], sight: InstanceSight): WhyView["ineffective"] {
  return ineffective.map(({ rule, sources, message, expiredAtMs }) => {
    const places = placesOf(rule.meta, sources, sight);
    const whole = sight.placeOf(rule.meta, undefined);
    return {
      kind: rule.meta.kind,
      rule: nameKey(rule.meta),
      places: places.length > 0 || whole === undefined ? places : [whole],
      message: expiredAtMs === undefined ? message : `The rule expired at ${formatTime(expiredAtMs)}.`,
    };
  });
}

/** Explains a missing entry by what the last run reported about it, and an undeclared entry by what the next run will do. */
function noteOf(covering: Covering, sight: InstanceSight): string | undefined {
  const { list, isLive, isManaged, wantedBy, refusal } = covering;
  const { instance } = sight.gathered;
  const [first] = wantedBy;
  if (first === undefined) {
    if (isManaged !== true) {
      const isExclusive = instance.policies[list] === "Exclusive";
      return isExclusive ? "No rule declares it: the policy Exclusive removes it." : undefined;
    }
    if (instance.suspend) return "No rule declares it any longer: it stays while the instance is suspended.";
    return "No rule declares it any longer: the next run removes it, unless removals are on hold (see `wafsync status`).";
  }
  if (isLive !== true && refusal !== undefined) return `The API refused to add it: ${refusal}`;
  if (isLive !== false) return undefined;
  if (instance.suspend) return "It is declared but not added: the instance is suspended.";
  if (instance.policies[list] === "Observe") return "It is declared but not added: the policy of the list is Observe.";
  const reported = reportedOn(first.rule.meta, sight);
  return `It is declared but not on the list yet.${reported === undefined ? "" : ` ${resourceKey(first.rule.meta)} reports: ${reported}`}`;
}

function reportedOn(meta: ResourceMeta, { statusOf }: InstanceSight): string | undefined {
  const conditions = (statusOf(meta)?.["conditions"] ?? []) as readonly Condition[];
  const synced = findCondition(conditions, "Synced");
  return synced === undefined || synced.status === "True" ? undefined : synced.message;
}
