// The data that a command shows about one instance, the same for people and for `-o json`: its objects, and the content of its plan,
// which is writes, adoptions, and all other differences from the declared state.
import type { Standalone } from "../app/standalone.ts";
import { type DeclaredCacheClear, listNames } from "../model/declared.ts";
import { type EntryOwners, lastDeclaredBy, unknownOwners } from "../model/entry-owners.ts";
import type { Adoption, Operation } from "../model/operation.ts";
import { nameKey, resourceKey, type ResourceMeta } from "../model/resource.ts";
import { ruleLabel } from "../model/rule-id.ts";
import { asSentence, counted, inThousands, listed } from "../model/sentence.ts";
import { progressText } from "../decide/progress.ts";
import { findUnmanaged } from "../decide/other-writers.ts";
import { faultsIn } from "../decide/compiled-rule.ts";
import type { RunFacts } from "../run/facts.ts";
import { unrecordedMessage } from "../run/status/events.ts";
import { keptMessage } from "../run/status/messages.ts";
import { adoptHint } from "../run/status/origin-status.ts";
import { troubleOf } from "../run/status/findings.ts";
import { objectLines, type ObjectView, viewObject } from "./object-view.ts";
import { faultWithHint } from "./targets/open-waf.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { type Paint, readyStyles, tableOf, type TextColumn } from "./terminal.ts";

/** One instance, after a run or a preview. */
export type InstanceView = ReturnType<typeof viewInstance> & {
  /** How many times the command cleared the cache; absent if the command does not count clears. */
  readonly cleared?: number;
  /** The added, removed and adopted entries by rule, one sentence each; absent if the command does not collect them. */
  readonly changes?: readonly string[];
};

interface ViewOptions {
  /** Cache clears that a run would handle, before all other calls. */
  readonly pendingClears?: readonly DeclaredCacheClear[];
  /** Whether the command exits after this run. */
  readonly isLast?: boolean;
}

export function viewInstance(
  facts: RunFacts,
  look: Pick<Standalone, "readStatus" | "placeOf">,
  options: ViewOptions = {},
) {
  const { pendingClears = [], isLast = false } = options;
  const { gathered, desired, plan, observed, result, done } = facts;
  const { meta } = gathered.instance;
  const progress = rulesProgress(facts);
  const others = viewOthers(facts);
  const objects: readonly { readonly meta: ResourceMeta; readonly description?: string }[] = [
    gathered.instance,
    ...desired.rules.map(({ rule }) => rule),
    ...desired.compiledOrigins.map(({ origin }) => origin),
    ...gathered.cacheClears,
  ];
  return {
    namespace: meta.namespace,
    name: meta.name,
    /** The place of its declaration: `waf.yaml:1`. */
    place: meta.location,
    domain: observed?.domain,
    primaryOrigin: observed?.primaryOrigin,
    /** `Done`, or the result otherwise. */
    end: result?.kind ?? "Running",
    trouble: troubleIn(facts, isLast),
    added: done.added + done.originsAdded,
    removed: done.removed + done.originsRemoved,
    /** Entries that became managed without a call. */
    adopted: done.adopted,
    /** Problems that do not stop the run. */
    warnings: [unrecordedMessage(facts) ?? "", keptMessage(facts)].filter((warning) => warning !== ""),
    lists: plan?.lists,
    operations: viewOperations(facts, pendingClears),
    ...others,
    /** Declared entries that another writer added: they stay on the WAF when no rule declares them any longer. */
    unmanaged: viewUnmanaged(facts),
    /** Entries and origins that are not applied: refused by the API, or by wafsync itself. */
    rejectedCount: others.refused.length + countRejected(desired),
    /** How many entries another writer removed, which the run adds again. */
    driftCount: facts.drift.filter(({ change }) => change === "Vanished").length,
    objects: objects.map(({ meta: object, description }) =>
      viewObject(
        {
          ...object,
          description,
          status: look.readStatus(object),
          placeOf: (source) => (source === undefined ? object.location : look.placeOf(object, source)),
        },
        progress.get(resourceKey(object)),
      ),
    ),
  };
}

/** Why nothing can be done. A command that exits after this run retries nothing. */
function troubleIn(facts: RunFacts, isLast: boolean): string | undefined {
  if (!isLast || facts.result?.kind !== "Failed") return troubleOf(facts)?.message;
  return faultWithHint(facts.result.fault, facts.gathered.instance);
}

/** The progress of each rule, because an interrupted run reports no status. */
function rulesProgress({ desired, progress }: RunFacts): ReadonlyMap<string, string> {
  return new Map(
    desired.rules.flatMap((rule) => {
      const suggested = rule.suggested?.size ?? 0;
      const counts = progress?.get(rule);
      if (counts === undefined) return [];
      return [[resourceKey(rule.rule.meta), suggested > 0 ? `${suggested} suggested` : progressText(rule, counts)]];
    }),
  );
}

/** What wafsync itself rejected. */
function countRejected({ rules, compiledOrigins }: RunFacts["desired"]): number {
  const entries = rules.reduce((count, { rejected }) => count + faultsIn(rejected).length, 0);
  return entries + compiledOrigins.filter(({ verdict }) => verdict !== "Accepted").length;
}

/** A difference from the declared state that this plan does not correct. */
export interface DifferenceView {
  readonly target: string;
  readonly value: string;
  readonly reason: string;
  /** What the rule says about the entry. */
  readonly note?: string;
  /** Whether it has another cause than the change that a plan with `--base` is about. Absent if it has not, or is not known. */
  readonly isDrift?: true;
}

export interface OperationView extends DifferenceView {
  readonly operation: Operation["kind"] | "Adopt" | "ClearCache";
}

/** In the order of execution: one cache clear for all pending ones, adoptions without a call, then the writes. */
function viewOperations(
  { plan, drift, gathered }: RunFacts,
  pendingClears: readonly DeclaredCacheClear[],
): OperationView[] {
  const drifted = new Map(drift.map(({ list, entry, change }) => [`${list} ${entry}`, change]));
  const view = (operation: Operation): OperationView => viewOperation(operation, drifted);
  const off = `not written, because ${gathered.instance.suspend ? "the instance is suspended" : "the policy is Observe"}`;
  return [
    ...pendingClears.map(viewClear),
    ...(plan?.adoptions ?? []).map(viewAdoption),
    ...(plan?.operations ?? []).map(view),
    ...(plan?.observedOnly ?? []).map(view).map((one) => ({ ...one, reason: `${one.reason}; ${off}` })),
  ];
}

function viewOperation(
  operation: Operation,
  drifted: ReadonlyMap<string, RunFacts["drift"][number]["change"]>,
): OperationView {
  const { kind, reason } = operation;
  if (kind === "AddOrigin" || kind === "RemoveOrigin") {
    return { operation: kind, target: `${operation.type.toLowerCase()} origin`, value: operation.host, reason };
  }
  const { list: target, entry } = operation;
  const change = drifted.get(`${target} ${entry}`);
  if (kind === "RemoveEntry") {
    const again = change === "Appeared" ? "was added by another writer; " : "";
    return { operation: kind, target, value: operation.spelling, reason: `${again}${reason}` };
  }
  const [first = "", ...others] = operation.rules;
  const also = others.length === 0 ? "" : ` and ${others.length} more`;
  const again = `was removed by another writer and will be added again for ${ruleLabel(first)}${also}`;
  const { note } = operation;
  const said = change === "Vanished" ? again : reason;
  return { operation: kind, target, value: entry, reason: said, ...(note !== undefined && { note }) };
}

function viewAdoption({ list, entry, rules }: Adoption): OperationView {
  const reason = `already on the list, adopted for ${rules.map(ruleLabel).join(", ")} without a call`;
  return { operation: "Adopt", target: list, value: entry, reason };
}

function viewClear({ meta, trigger }: DeclaredCacheClear): OperationView {
  const what = trigger === undefined ? "not handled yet" : `trigger ${trigger} is not handled yet`;
  return { operation: "ClearCache", target: "cache", value: nameKey(meta), reason: what };
}

/** What the plan does not correct, from the outcomes of all rows. */
function viewOthers({ plan }: RunFacts) {
  const held: OperationView[] = [];
  const refused: DifferenceView[] = [];
  const waiting: DifferenceView[] = [];
  const hold = (operation: "RemoveEntry" | "RemoveOrigin", target: string, value: string, owners: EntryOwners) => {
    const former = lastDeclaredBy(owners);
    const why = asSentence(plan?.held?.obstacle?.reason ?? "the guards of the instance allow fewer removals at once");
    held.push({ operation, target, value, reason: `on hold${former === "" ? "" : `, ${former}`}: ${why}` });
  };
  for (const target of listNames) {
    const until = plan !== undefined && plan.lists[target].held > 0 ? ": removals on hold would make room" : "";
    for (const { entry: value, recorded, outcome } of plan?.outcomes[target] ?? []) {
      const { kind, reason } = outcome;
      if (kind === "Held") hold("RemoveEntry", target, value, recorded?.owners ?? unknownOwners);
      if (kind === "Refused") refused.push({ target, value, reason: asSentence(reason) });
      if (kind === "Contested") waiting.push({ target, value, reason });
      if (kind === "NoRoom")
        waiting.push({ target, value, reason: `${reason} (spec.${target}.maxEntries of the instance)${until}` });
    }
    for (const value of plan?.waiting[target] ?? []) {
      const reason = "is not removed, because the API refuses an entry that shares addresses with it";
      waiting.push({ target, value, reason });
    }
  }
  const target = "origin";
  for (const { host, owners } of plan?.held?.origins ?? []) hold("RemoveOrigin", target, host, owners);
  for (const [value, { kind, reason, insteadOf }] of plan?.origins.outcomes ?? []) {
    if (kind === "Primary")
      waiting.push({
        target,
        value,
        reason: "is the primary origin, and stays until another host becomes the primary",
      });
    if (kind === "Refused")
      refused.push({ target, value, reason: insteadOf === "Add" ? `${asSentence(reason)} ${adoptHint}` : reason });
  }
  return {
    /** Removals on hold, each with its reason, and the hash that approves them. */
    held,
    approve: plan?.held?.hash,
    /** Writes that the API refused, and that are not retried for now. */
    refused,
    /** Changes that must wait for an external event: another primary origin, another writer, or room on the list. */
    waiting,
  };
}

function viewUnmanaged({ plan, desired }: RunFacts): DifferenceView[] {
  if (plan === undefined) return [];
  return findUnmanaged(desired, plan).map(({ list, entry, rule: { id, expired, expiresAtMs } }) => {
    const left = `unmanaged, and stays although ${ruleLabel(id)} has expired`;
    const when = expiresAtMs === undefined ? "when no rule declares it any longer" : "after the rule expires";
    const stays = `${ruleLabel(id)} is satisfied by an unmanaged entry, which stays ${when}`;
    return { target: list, value: entry, reason: expired ? left : stays };
  });
}

// Formats instances for people: the result of a run as a table of objects with counts, problems and notes, and a plan as its writes
// and all other differences from the declared state.

const examplesMax = 5;

/** Declared entries that another writer added: one line for each rule and list. */
function unmanagedLines({ unmanaged }: InstanceView, paint: Paint): string[] {
  const groups = Map.groupBy(unmanaged, ({ target, reason }) => `${target} ${reason}`);
  return [...groups.values()].flatMap((items) => {
    const { target = "", reason = "" } = items[0] ?? {};
    const values = items.map(({ value }) => value);
    return paint("cyan", `  note: ${target} ${listed(values, examplesMax)}: ${reason}`);
  });
}

/** Objects with problems, with entries of feeds that are not applied, and what to do. */
export function problemLines({ warnings, objects, trouble }: InstanceView, paint: Paint): string[] {
  const known = objects.flatMap(({ ready, message }) => (ready === "False" ? [message] : []));
  const others = warnings.filter((warning) => !known.includes(warning));
  const lines = others.map((warning) => paint("yellow", `  warning: ${warning}`));
  for (const object of objects) {
    const isProblem = object.ready === "False" || !object.isAccepted;
    if ((!isProblem && object.rejected.length === 0) || object.message === trouble) continue;
    const [title, ...details] = objectLines(object, nameKey(object));
    lines.push(paint(isProblem ? "red" : "cyan", `  ${title}`), ...details.map((line) => `  ${line}`));
  }
  return lines;
}

/** Notes and problems. */
export function remarkLines(view: InstanceView, paint: Paint): string[] {
  return [...unmanagedLines(view, paint), ...problemLines(view, paint)];
}

const objectColumns: readonly TextColumn<ObjectView & Pick<InstanceView, "domain">>[] = [
  { title: "Kind", cell: ({ kind }) => kind },
  { title: "Namespace", cell: ({ namespace }) => namespace },
  { title: "Name", cell: ({ name }) => name },
  { title: "Progress", cell: progressOf },
  { title: "Ready", cell: ({ ready }, paint) => paint(readyStyles[ready], ready) },
  { title: "Reason", cell: ({ reason }) => reason },
];

/** The objects of all instances. */
export function objectTable(views: readonly InstanceView[], paint: Paint): string[] {
  const rows = views.flatMap(({ domain, objects }) => objects.map((object) => ({ ...object, domain })));
  return tableOf(objectColumns, rows, paint);
}

function progressOf({ kind, progress, domain = "" }: ObjectView & Pick<InstanceView, "domain">): string {
  if (kind === "WafInstance") return domain;
  // States and triggers stay as they are.
  return kind === "WafIpRule" ? progress.replaceAll(/\d+/g, (digits) => inThousands(Number(digits))) : progress;
}

export function countsLine(view: InstanceView, paint: Paint): string {
  return view.lists === undefined ? "" : `${paint("bold", nameKey(view))}: ${countsText(view)}`;
}

/** What a run did, and what the lists show. */
function countsText(view: InstanceView): string {
  const { lists, added, removed, adopted, cleared = 0 } = view;
  if (lists === undefined) return "";
  const done = [
    added + removed === 0 ? "" : `${inThousands(added)} added, ${inThousands(removed)} removed`,
    adopted === 0 ? "" : `${inThousands(adopted)} adopted`,
    cleared === 0 ? "" : counted(cleared, "cache clear", "cache clears"),
  ];
  const shown = listNames.map((list) => {
    const { live, managed, foreign, held } = lists[list];
    const unmanaged = foreign === 0 ? "" : `, ${inThousands(foreign)} unmanaged`;
    const onHold = held === 0 ? "" : `, ${inThousands(held)} on hold`;
    return `${list} ${inThousands(live)} (${inThousands(managed)} managed${unmanaged}${onHold})`;
  });
  return `${done.filter((part) => part !== "").join(", ") || "nothing to change"}; ${shown.join(", ")}`;
}

/** Further lines of differences are only counted; `--full` prints all of them. */
const linesShownMax = 40;
/** How many differences with the same reason are shown. */
const linesPerReasonMax = 5;

/**
 * The planned changes: one line each, with its reason. Nothing for an instance that cannot be reconciled.
 * @param isFaulty Whether some files, or parts of them, are not in the plan.
 */
export function planLines(view: InstanceView, paint: Paint, isFaulty: boolean, isFull = false): string[] {
  if (view.trouble !== undefined) return [];
  const { text, isClean } = planVerdict(view, isFaulty);
  return [
    headline(view, paint),
    ...partsOf(view).flatMap((part) => differenceLines(part, paint, isFull)),
    ...problemLines(view, paint),
    paint(isClean ? "green" : "bold", `  ${text}`),
  ];
}

function headline(view: InstanceView, paint: Paint): string {
  const where = view.domain === undefined ? "" : ` → ${view.domain}`;
  const primary = view.primaryOrigin === undefined ? "" : paint("dim", `  (primary origin ${view.primaryOrigin})`);
  return `${paint("bold", nameKey(view))}${where}${primary}`;
}

/** The sum of a plan, or of what was done, in one sentence. */
export interface Verdict {
  readonly text: string;
  readonly isClean: boolean;
}

export function applyVerdict(view: InstanceView): Verdict {
  if (view.trouble !== undefined) return { text: "Not applied: the WAF cannot be reconciled.", isClean: false };
  return { text: `Applied: ${countsText(view)}.`, isClean: !isIncomplete(view) };
}

/** Whether a run has left the WAF in another state than the declared one. */
export function isIncomplete(view: InstanceView): boolean {
  return view.held.length > 0 || view.objects.some(({ ready, isAccepted }) => ready === "False" || !isAccepted);
}

export function planVerdict(view: InstanceView, isFaulty: boolean): Verdict {
  if (view.trouble !== undefined) return { text: "No plan: the WAF cannot be reconciled.", isClean: false };
  if (differsFromDeclared(view)) return { text: `Plan: ${planSummary(view)}`, isClean: false };
  if (isFaulty || isPartial(view)) return { text: "Nothing to do for the other objects.", isClean: false };
  return { text: "Nothing to do: the WAF matches the declared state.", isClean: true };
}

/** A kind of difference from the declared state: its mark, and what a count of them is called. */
interface Kind {
  readonly mark: string;
  readonly style: Parameters<Paint>[0];
  readonly one: string;
  readonly many: string;
}

export interface Difference extends DifferenceView {
  readonly kind: Kind;
}

function kind(mark: string, style: Kind["style"], one: string, many = one): Kind {
  return { mark, style, one, many };
}

const kinds = {
  Remove: kind("-", "red", "to remove"),
  Hold: kind("!", "yellow", "removal on hold", "removals on hold"),
  Add: kind("+", "green", "to add"),
  Adopt: kind("=", "cyan", "to adopt without a call"),
  Clear: kind("~", "cyan", "cache clear", "cache clears"),
  Wait: kind("?", "yellow", "waiting"),
  Unmanaged: kind("*", "cyan", "already on the WAF and unmanaged"),
};
/** The most important first. */
export const differenceKinds: readonly Kind[] = Object.values(kinds);

/** Marks what the plan without the change contains as well, on hold or not: it is drift. */
export function markDrift(view: InstanceView, base: InstanceView | undefined): InstanceView {
  if (base === undefined) return view;
  const keyOf = ({ operation = "", target, value }: DifferenceView & { readonly operation?: string }): string =>
    `${operation} ${target} ${value}`;
  const known = new Set([...base.operations, ...base.held, ...base.waiting, ...base.unmanaged].map(keyOf));
  const marked = <One extends DifferenceView>(items: readonly One[]): One[] =>
    items.map((one) =>
      known.has(keyOf(one)) ? { ...one, isDrift: true, reason: `${one.reason}; drift, not this change` } : one,
    );
  return {
    ...view,
    operations: marked(view.operations),
    held: marked(view.held),
    waiting: marked(view.waiting),
    unmanaged: marked(view.unmanaged),
  };
}

/**
 * Every difference: the operations in the order of execution, and then what the plan does not correct. What is drift comes last, so that
 * series with the same reason stay together.
 */
function partsOf({ operations, held, waiting, unmanaged }: InstanceView): Difference[][] {
  const all = (items: readonly DifferenceView[], kind: Kind) => driftLast(items.map((item) => ({ ...item, kind })));
  return [
    driftLast(operations.map((item) => ({ ...item, kind: kindOfOperation(item) }))),
    all(held, kinds.Hold),
    all(waiting, kinds.Wait),
    all(unmanaged, kinds.Unmanaged),
  ];
}

function driftLast(items: readonly Difference[]): Difference[] {
  return items.toSorted((a, b) => Number(a.isDrift ?? false) - Number(b.isDrift ?? false));
}

function kindOfOperation({ operation }: OperationView): Kind {
  if (operation.startsWith("Add")) return kinds.Add;
  if (operation.startsWith("Remove")) return kinds.Remove;
  return operation === "Adopt" ? kinds.Adopt : kinds.Clear;
}

export function differencesOf(view: InstanceView): Difference[] {
  return partsOf(view).flat();
}

/** One line each, in columns; long series with the same reason and long plans are shortened. */
function differenceLines(items: readonly Difference[], paint: Paint, isFull: boolean): string[] {
  // Entries are shown as the WAF's list spells them, which may include line breaks.
  const groups = groupByReason(items).map((all) => ({
    count: all.length,
    shown: visibleTexts(isFull ? all : all.slice(0, linesPerReasonMax)),
  }));
  const shown = groups.flatMap((group) => group.shown);
  const widthOf = (field: "target" | "value") => shown.reduce((most, one) => Math.max(most, one[field].length), 0);
  const [targetWidth, valueWidth] = [widthOf("target"), widthOf("value")];
  const lines = groups.flatMap((group) => {
    const texts = group.shown.map(({ kind: { mark, style }, target, value, reason, note }) => {
      const text = `  ${mark} ${target.padEnd(targetWidth)}  ${value.padEnd(valueWidth)}`;
      return `${paint(style, text)}  ${paint("dim", reason)}${note === undefined ? "" : `  # ${note}`}`;
    });
    const summedUp = group.count - group.shown.length;
    const more = `    ${" ".repeat(targetWidth)}  … and ${inThousands(summedUp)} more like ${group.shown.length === 1 ? "this" : "these"}`;
    return summedUp > 0 ? [...texts, paint("dim", more)] : texts;
  });
  if (isFull || lines.length <= linesShownMax) return lines;
  const left = inThousands(lines.length - linesShownMax);
  return [...lines.slice(0, linesShownMax), paint("dim", `  … and ${left} more lines (--full shows all)`)];
}

/** Consecutive differences that differ only in their value. */
export function groupByReason(items: readonly Difference[]): Difference[][] {
  const groups: Difference[][] = [];
  for (const item of items) {
    const { kind, target, reason } = groups.at(-1)?.[0] ?? {};
    if (kind === item.kind && target === item.target && reason === item.reason) groups.at(-1)?.push(item);
    else groups.push([item]);
  }
  return groups;
}

/** True if the WAF differs from the declared state. Errors in the files do not count here: they make a plan partial. */
export function differsFromDeclared(view: InstanceView): boolean {
  return differencesOf(view).length + view.refused.length > 0;
}

/** Parts of the declared state are invalid, and therefore not in the plan. */
export function isPartial({ objects }: InstanceView): boolean {
  return objects.some(({ isAccepted }) => !isAccepted);
}

/** `3 to add, 0 to remove, one call each.` */
function planSummary(view: InstanceView): string {
  const differences = differencesOf(view);
  const count = (kind: Kind): number => differences.filter((one) => one.kind === kind).length;
  const [added, adopted] = [count(kinds.Add), count(kinds.Adopt)];
  const drift =
    view.driftCount === 0 ? "" : ` (${inThousands(Math.min(view.driftCount, added))} removed by another writer)`;
  const others = [
    [adopted, kinds.Adopt.many],
    [view.held.length, "on hold"],
    [view.rejectedCount, "rejected"],
    [view.waiting.length, kinds.Wait.many],
    [view.unmanaged.length, kinds.Unmanaged.many],
  ] as const;
  const parts = [
    `${inThousands(added)} to add${drift}`,
    `${inThousands(count(kinds.Remove))} to remove`,
    ...others.flatMap(([number, what]) => (number === 0 ? [] : [`${inThousands(number)} ${what}`])),
  ];
  if (view.operations.length > adopted) parts.push(adopted > 0 ? "one call for each other change" : "one call each");
  const drifted = differences.filter(({ isDrift }) => isDrift).length;
  const ofThese = drifted === 0 ? "" : ` ${inThousands(drifted)} of these ${drifted === 1 ? "is" : "are"} drift.`;
  return `${parts.join(", ")}${count(kinds.Clear) === 0 ? "" : ", and one that clears the cache"}.${ofThese}`;
}
