// The result of `why` for one address on one WAF: as plain data, and in lines for people.
import { formatTime, inThousands, visibleTexts } from "../model/texts.ts";
import { type Condition, detailOf, findCondition } from "../kinds/conditions.ts";
import { realClock } from "../async/clock.ts";
import { inSlices } from "../async/time-slices.ts";
import { AddressCover } from "../address/ranges.ts";
import type { Entry } from "../address/entry.ts";
import { nameKey, type ObjectName, resourceKey, type ResourceMeta } from "../model/resource.ts";
import { requesterOf } from "./command-rule.ts";
import { examineInSlices, explainAddress } from "../decide/explain.ts";
import type { Covering, Examined, Ineffective, Verdict, Wanting } from "../decide/explain.ts";
import type { InstanceSight, Target } from "./targets/target.ts";
import type { Paint } from "./terminal.ts";

export type WhyView = Awaited<ReturnType<typeof viewWhy>>;
export type CoveringView = Awaited<ReturnType<typeof viewCovering>>;
export type OwnerView = Awaited<ReturnType<typeof viewOwner>>;

/** An instance, prepared to look addresses up. */
export interface ExaminedSight {
  readonly sight: InstanceSight;
  readonly examined: Examined;
}

export async function examineSight(sight: InstanceSight): Promise<ExaminedSight> {
  const { gathered, inventory, live } = sight;
  const lists = live.ok ? live.value : undefined;
  const version = sight.statusOf(gathered.instance.meta)?.["inventoryVersion"];
  const reportedVersion = typeof version === "number" ? version : undefined;
  const input = { gathered, live: lists, inventory, reportedVersion, nowMs: realClock.nowMs() };
  return { sight, examined: await inSlices(realClock, examineInSlices(input)) };
}

/** What blocks or allows the address on each of the instances. */
export async function explainOn(
  target: Pick<Target, "look">,
  instances: readonly ObjectName[],
  address: Entry,
): Promise<readonly WhyView[]> {
  const views: WhyView[] = [];
  for (const instance of instances) {
    const sight = await target.look(instance, { live: true });
    views.push(await viewWhy(address, await examineSight(sight)));
  }
  return views;
}

export async function viewWhy(address: Entry, { sight, examined }: ExaminedSight) {
  const { gathered, inventory, live } = sight;
  const explanation = explainAddress(address, examined);
  const { meta } = gathered.instance;
  const unread = live.ok
    ? []
    : [`The lists of the WAF were not read, so this shows only the declared state. ${live.problem}`];
  return {
    instance: nameKey(meta),
    domain: inventory?.domain ?? (sight.statusOf(meta)?.["domain"] as string | undefined),
    verdict: explanation.verdict,
    coverings: await Promise.all(explanation.coverings.map(async (covering) => await viewCovering(covering, sight))),
    /** Rules that declare the address without effect, or may declare it. */
    ineffective: viewIneffective([...explanation.ineffective, ...unattachedIn(address, sight)], sight),
    liveListsRead: live.ok,
    gaps: [...unread, ...sight.gaps],
  };
}

async function viewCovering(covering: Covering, sight: InstanceSight) {
  const { list, entry, isLive, isManaged, sinceMs, manner, wantedBy, formerOwners, spellings, lines } = covering;
  const isReported = wantedBy.some(({ rule }) => {
    const synced = findCondition(conditionsOf(rule.meta, sight), "Synced");
    return synced?.status === "True" && synced.reason === "Synced";
  });
  const isOn = isLive ?? (isReported ? true : undefined);
  return {
    list,
    entry,
    /** The spelling in the list, if it differs. */
    spelling: spellings.find((spelling) => spelling !== entry),
    state: isOn === undefined ? "Unknown" : isOn ? "OnList" : "NotOnList",
    management: isManaged === undefined ? "Unknown" : isManaged ? "Managed" : "Unmanaged",
    since: formatTime(sinceMs),
    manner,
    owners: await Promise.all(wantedBy.map(async (wanting) => await viewOwner(wanting, sight))),
    formerOwners: formerOwners.map(({ kind, name }) => `${kind} ${name}`),
    /** How many declared entries a merged network covers. */
    lines,
    /** Why it is not on the list, or what will happen to it. */
    note: noteOf(covering, sight),
  } as const;
}

async function viewOwner({ rule, sources, note, expiresAtMs }: Wanting, sight: InstanceSight) {
  const setter = await sight.setterOf(rule.meta);
  return {
    kind: rule.meta.kind,
    rule: nameKey(rule.meta),
    action: rule.action,
    description: rule.description,
    /** Each as `rules.yaml:12` in a folder, otherwise as `spec.addresses[3]` or a line of a ConfigMap. */
    places: placesOf(rule.meta, sources, sight),
    /** Its comment, or why a WafAutoBlock lists it. */
    note,
    until: formatTime(expiresAtMs),
    /** Who last changed it: the user of the command, or Git's author. */
    changedBy: requesterOf(rule.meta) ?? setter?.author,
    /** The program that last changed it, as it calls itself: a field manager. */
    changedWith: setter?.manager,
    changedAt: setter?.time,
  };
}

function placesOf(meta: ResourceMeta, sources: readonly string[], { placeOf }: InstanceSight): readonly string[] {
  if (meta.kind === "WafAutoBlock" || sources.length === 0) return [placeOf(meta, undefined) ?? []].flat();
  return sources.map((source) => {
    const place = placeOf(meta, source);
    if (place === undefined) return source;
    return /^(?:ConfigMap|WafFeed) /u.test(source) ? `${place} (${source})` : place;
  });
}

function conditionsOf(meta: ResourceMeta, { statusOf }: InstanceSight): readonly Condition[] {
  return (statusOf(meta)?.["conditions"] ?? []) as readonly Condition[];
}

/** Sources of unattached rules are not read. */
function unattachedIn(address: Entry, { unattached }: InstanceSight): Ineffective[] {
  const cover = new AddressCover(address);
  return unattached.flatMap(({ rule, message }) => {
    const sources = rule.addresses.flatMap((text, index) =>
      cover.find(text) === undefined ? [] : [`spec.addresses[${index}]`],
    );
    return sources.length === 0 ? [] : [{ rule, sources, message }];
  });
}

function viewIneffective(ineffective: readonly Ineffective[], sight: InstanceSight) {
  return ineffective.map(({ rule, sources, message, isUnread, expiredAtMs }) => ({
    kind: rule.meta.kind,
    rule: nameKey(rule.meta),
    places: placesOf(rule.meta, sources, sight),
    isUnread,
    message: expiredAtMs === undefined ? message : `The rule expired at ${formatTime(expiredAtMs)}.`,
  }));
}

/** What the next run decides about the entry, and what the last one reported about a missing one. */
function noteOf({ isLive, wantedBy, outcome }: Covering, sight: InstanceSight): string | undefined {
  const { kind, reason, insteadOf } = outcome ?? { kind: "Add", reason: "", insteadOf: undefined };
  const [first] = wantedBy;
  if (insteadOf === "Add") return `It is declared but not added: ${reason}.`;
  if (insteadOf === "Remove") return `It is not removed: ${reason}.`;
  if (first === undefined) {
    if (kind === "Held") return "No rule declares it any longer, and its removal is on hold (see `wafsync status`).";
    if (kind === "Remove") return `The next run removes it: ${reason}.`;
    return kind === "Release" ? `The next run no longer manages it: ${reason}.` : undefined;
  }
  if (kind === "Remove" || kind === "Held" || kind === "NoRoom") return `It is declared, but ${reason}.`;
  if (isLive !== false) return undefined;
  const { meta } = first.rule;
  const conditions = conditionsOf(meta, sight);
  const reported = findCondition(conditions, "Synced")?.status === "True" ? undefined : detailOf(conditions, "Synced");
  return `It is declared but not on the list yet.${reported === undefined ? "" : ` ${resourceKey(meta)} reports: ${reported}`}`;
}

// Formats the result of `why` for people.

const styles: Readonly<Record<Verdict, Parameters<Paint>[0]>> = {
  Blocked: "red",
  Allowed: "green",
  NotBlocked: "bold",
};

/**
 * For each instance, what blocks or allows the address, and what would have to change. With many WAFs, most have nothing to show for an
 * address: if there is more than one of them, they are combined in one line.
 */
export function allWhyLines(address: Entry, views: readonly WhyView[], paint: Paint, target: string): string[] {
  const affected = views.filter(
    ({ verdict, coverings, ineffective, liveListsRead }) =>
      verdict !== "NotBlocked" || coverings.length + ineffective.length > 0 || !liveListsRead,
  );
  const count = views.length - affected.length;
  const blocks = (count > 1 ? affected : views).map((view) =>
    [
      ...whyLines(address, view, paint),
      ...adviceOn(address, view, target).flatMap(([goal, command]) => ["", `${goal}: ${command}`]),
    ].join("\n"),
  );
  const other = affected.length === 0 ? "" : "other ";
  if (count > 1) blocks.push(`${address} is not blocked on ${inThousands(count)} ${other}instances`);
  return blocks.flatMap((block, place) => (place === 0 ? [block] : ["", block]));
}

/** @param unsafe may contain any string of clients, WAFs and files */
export function whyLines(address: Entry, unsafe: WhyView, paint: Paint): string[] {
  const view = visibleTexts(unsafe);
  const lines = [paint(styles[view.verdict], headline(address, view))];
  for (const covering of view.coverings) lines.push("", ...coveringLines(covering, paint));
  for (const { kind, rule, places, isUnread, message } of view.ineffective) {
    const how = isUnread === true ? "may declare it" : "declares it without effect";
    lines.push("", `${kind} ${rule}${placed(places)} ${how}:`, `  ${message}`);
  }
  return lines;
}

/** Commands for what to do next, by their goals. */
export function adviceOn(address: Entry, view: WhyView, target: string): [goal: string, command: string][] {
  const on = `${address} ${target}--instance ${view.instance}`;
  if (view.verdict === "NotBlocked" && view.coverings.every(({ owners }) => owners.length === 0)) {
    const logs = "To see requests that the WAF's own rules blocked";
    return [
      ["To block it", `wafsync block ${on} --for 2h`],
      [logs, `wafsync logs --client ${on} --since 1d`],
    ];
  }
  return view.verdict === "Blocked" ? [["To unblock it, or to see what must change", `wafsync unblock ${on}`]] : [];
}

function headline(address: Entry, { instance, domain, verdict, coverings, liveListsRead }: WhyView): string {
  const where = `on ${instance}${domain === undefined ? "" : ` (${domain})`}`;
  const not = verdict === "NotBlocked" ? "not " : "";
  const state = `${liveListsRead ? "" : "declared as "}${verdict === "Allowed" ? "allowed" : "blocked"}`;
  const isBoth =
    verdict === "Allowed" && coverings.some(({ list, state: on }) => list === "blocklist" && on !== "NotOnList");
  const both = isBoth ? "; the blocklist also covers it, and the WAF decides which list takes precedence" : "";
  return `${address} is ${not}${state} ${where}${both}`;
}

function coveringLines(covering: CoveringView, paint: Paint): string[] {
  const { list, entry, spelling, owners, formerOwners, note } = covering;
  const shown = spelling === undefined ? "" : ` (shown as ${spelling})`;
  const merged = covering.lines === undefined ? "" : `, merged from ${inThousands(covering.lines)} declared entries`;
  const title = `${list}  ${paint("bold", entry)}${shown}  ${managementOf(covering)}${merged}`;
  const former = formerOwners.length === 0 ? [] : [`  last declared by ${formerOwners.join(", ")}`];
  return [title, ...owners.flatMap(ownerLines), ...former, ...(note === undefined ? [] : [`  ${note}`])];
}

function managementOf({ state, management, manner, since }: CoveringView): string {
  if (state === "NotOnList") return "not on the list";
  const when = since === undefined ? "" : ` since ${since}`;
  if (management === "Managed") return `managed${when}${manner === "Adopted" ? ", adopted" : ""}`;
  if (management === "Unknown") return "unknown whether wafsync manages it";
  return state === "Unknown"
    ? "not managed yet"
    : "unmanaged: another writer added it, or a rule that was deleted with Retain";
}

function ownerLines(owner: OwnerView): string[] {
  const { kind, rule, places, description, note, until, changedAt, changedBy, changedWith } = owner;
  const end = until === undefined ? "" : `, until ${until}`;
  // For example ` by ann with wafsync-block`: a person, a program, or both.
  const who = [
    changedBy === undefined ? "" : ` by ${changedBy}`,
    changedWith === undefined ? "" : ` with ${changedWith}`,
  ];
  const by = changedAt === undefined ? "" : `, last changed${who.join("")} at ${changedAt}`;
  const line = `  ${kind} ${rule}${placed(places)}${end}${by}`;
  return [line, ...[description, note].flatMap((text) => (text === undefined ? [] : [`    ${text}`]))];
}

/** ` at rules.yaml:12`, or nothing. */
function placed(places: readonly string[]): string {
  return places.length === 0 ? "" : ` at ${places.join(", ")}`;
}
