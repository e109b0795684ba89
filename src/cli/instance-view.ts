// The data that a command shows about one instance, the same for people and for `-o json`: its objects, and the outcomes of its plan,
// which are writes, adoptions, and all other differences from the declared state.
import type { Standalone } from "../app/standalone.ts";
import { type CompiledRule, faultsIn } from "../decide/compiled-rule.ts";
import type { Plan } from "../decide/plan.ts";
import { progressText } from "../decide/progress.ts";
import { type DeclaredCacheClear, listNames } from "../model/declared.ts";
import { type EntryOwners, lastDeclaredBy, unknownOwners, ruleLabel } from "../model/rule-id.ts";
import type { Operation } from "../model/operation.ts";
import { nameKey, type ResourceMeta } from "../model/resource.ts";
import { asSentence, counted, inThousands, visibleTexts } from "../model/texts.ts";
import type { RunFacts } from "../run/facts.ts";
import { unrecordedMessage } from "../run/status/events.ts";
import { troubleOf, keptMessage } from "../run/status/messages.ts";
import { adoptHint } from "../run/status/statuses.ts";
import { objectLines, type ObjectView, viewObject } from "./object-view.ts";
import { faultWithHint } from "./targets/open-target.ts";
import { type Paint, readyStyles, tableOf, type TextColumn } from "./terminal.ts";

/** One instance, after a run or a preview. */
export type InstanceView = ReturnType<typeof viewInstance> & {
  /** How many times the command cleared the cache; absent if the command does not count clears. */
  readonly cleared?: number;
  /** The added, removed and adopted entries by rule, one sentence each; absent if the command does not collect them. */
  readonly changes?: readonly string[];
};

/** @param pendingClears of a plan: the cache clears that a run would handle, before all other calls; undefined after a run */
export function viewInstance(
  facts: RunFacts,
  look: Pick<Standalone, "readStatus" | "placeOf">,
  pendingClears?: readonly DeclaredCacheClear[],
) {
  const { gathered, desired, plan, observed, result, done } = facts;
  const { meta } = gathered.instance;
  const objects: readonly { readonly meta: ResourceMeta; readonly description?: string; readonly progress?: string }[] =
    [
      gathered.instance,
      ...desired.rules.map((rule) => ({ ...rule.rule, ...progressIn(facts, rule) })),
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
    /** Why nothing can be done. */
    trouble: result?.kind === "Failed" ? faultWithHint(result.fault, gathered.instance) : troubleOf(facts)?.message,
    added: done.added,
    removed: done.removed,
    /** Entries that became managed without a call. */
    adopted: done.adopted,
    /** Problems that do not stop the run. */
    warnings: [unrecordedMessage(facts) ?? "", keptMessage(facts)].filter((warning) => warning !== ""),
    lists: plan?.lists,
    suspended: gathered.instance.suspend,
    /** Every difference from the declared state; after a run, those that another run would not change either. */
    outcomes: plan === undefined ? [] : outcomesOf(facts, plan, pendingClears),
    /** The hash that approves the removals on hold. */
    approve: plan?.held?.hash,
    objects: objects.map(({ meta: object, description, progress }) =>
      viewObject({
        ...object,
        description,
        progress,
        status: look.readStatus(object),
        placeOf: (source) => (source === undefined ? object.location : look.placeOf(object, source)),
      }),
    ),
  };
}

/** The progress of a rule, because an interrupted run reports no status. */
function progressIn({ progress }: RunFacts, rule: CompiledRule): { readonly progress?: string } {
  const counts = progress?.get(rule);
  return counts === undefined || rule.suggested !== undefined ? {} : { progress: progressText(rule, counts) };
}

/** A difference from the declared state, and what happens to it. */
export interface OutcomeView {
  /** `Rejected`: not applied, because the API or wafsync refuses it. */
  readonly outcome: keyof typeof kinds | "Rejected";
  /** A list, `origin`, `alternate origin` or `backup origin`, or `cache`. */
  readonly target: string;
  readonly value: string;
  readonly reason: string;
  /** What the rule says about the entry. */
  readonly note?: string;
  /** Whether it has another cause than a change of what is declared. Absent if it has not, or is not known. */
  readonly isDrift?: true;
}

const causes = { Vanished: "was removed", Appeared: "was added" } as const;

/** First the calls in the order of execution, and then what a run leaves as it is, from the outcomes of all rows. */
function outcomesOf(facts: RunFacts, plan: Plan, pendingClears?: readonly DeclaredCacheClear[]): OutcomeView[] {
  const { drift, gathered } = facts;
  const drifted = new Map(drift.map(({ list, entry, change }) => [`${list} ${entry}`, causes[change]]));
  const view = (operation: Operation): OutcomeView => viewOperation(operation, drifted);
  const off = `not written, because ${gathered.instance.suspend ? "the instance is suspended" : "the policy is Observe"}`;
  const planned = pendingClears === undefined ? [] : [...plannedIn(plan, pendingClears), ...plan.operations.map(view)];
  const suspended = plan.observedOnly.map(view).map((one) => ({ ...one, reason: `${one.reason}; ${off}` }));
  return [...planned, ...suspended, ...leftBy(facts, plan)];
}

/** What comes before the writes: one cache clear for all pending ones, and adoptions without a call. */
function plannedIn({ adoptions }: Plan, pendingClears: readonly DeclaredCacheClear[]): OutcomeView[] {
  return [
    ...pendingClears.map(({ meta, trigger }): OutcomeView => {
      const reason = trigger === undefined ? "not handled yet" : `trigger ${trigger} is not handled yet`;
      return { outcome: "ClearCache", target: "cache", value: nameKey(meta), reason };
    }),
    ...adoptions.map(({ list, entry, rules }): OutcomeView => {
      const reason = `already on the list, adopted for ${rules.map(ruleLabel).join(", ")} without a call`;
      return { outcome: "Adopt", target: list, value: entry, reason };
    }),
  ];
}

function viewOperation(operation: Operation, drifted: ReadonlyMap<string, string>): OutcomeView {
  const { kind, reason } = operation;
  const outcome = kind === "AddEntry" || kind === "AddOrigin" ? "Add" : "Remove";
  if ("host" in operation) {
    return { outcome, target: `${operation.type.toLowerCase()} origin`, value: operation.host, reason };
  }
  const { list: target, entry } = operation;
  const value = "spelling" in operation ? operation.spelling : entry;
  const note = "note" in operation && { note: operation.note };
  const cause = drifted.get(`${target} ${entry}`);
  if (cause === undefined) return { outcome, target, value, reason, ...note };
  return { outcome, target, value, reason: `${cause} by another writer; ${reason}`, ...note, isDrift: true };
}

function leftBy(facts: RunFacts, plan: Plan): OutcomeView[] {
  const { desired } = facts;
  const guards = plan.held?.obstacle?.reason ?? "the guards of the instance allow fewer removals at once";
  const viewHeld = (target: string, value: string, owners: EntryOwners): OutcomeView => {
    const former = lastDeclaredBy(owners);
    const reason = `on hold${former === "" ? "" : `, ${former}`}: ${asSentence(guards)}`;
    return { outcome: "Held", target, value, reason };
  };
  return [
    ...listNames.flatMap((target) =>
      plan.outcomes[target].flatMap(({ entry: value, recorded, outcome: { kind, reason } }): OutcomeView[] => {
        if (kind === "Held") return [viewHeld(target, value, recorded?.owners ?? unknownOwners)];
        if (kind === "Refused") return [{ outcome: "Rejected", target, value, reason: asSentence(reason) }];
        if (kind === "Contested" || kind === "Waiting") return [{ outcome: "Waiting", target, value, reason }];
        if (kind !== "NoRoom") return [];
        const limit = `${reason} (spec.${target}.maxEntries of the instance)`;
        return [{ outcome: "Waiting", target, value, reason: limit }];
      }),
    ),
    ...(plan.held?.origins ?? []).map(({ host, owners }) => viewHeld("origin", host, owners)),
    ...[...plan.origins.outcomes].flatMap(([value, { kind, reason, insteadOf }]): OutcomeView[] => {
      if (kind === "Primary") return [{ outcome: "Waiting", target: "origin", value, reason }];
      if (kind !== "Refused") return [];
      const hint = insteadOf === "Add" ? ` ${adoptHint}` : "";
      return [{ outcome: "Rejected", target: "origin", value, reason: `${asSentence(reason)}${hint}` }];
    }),
    ...desired.rules.flatMap(({ list, rejected }) =>
      faultsIn(rejected).map(({ entry, message }): OutcomeView => {
        return { outcome: "Rejected", target: list, value: entry, reason: message };
      }),
    ),
    ...desired.compiledOrigins.flatMap(({ origin, verdict, message }): OutcomeView[] =>
      verdict === "Accepted" ? [] : [{ outcome: "Rejected", target: "origin", value: origin.host, reason: message }],
    ),
    ...viewUnmanaged(facts),
  ];
}

/** Only for lists where such entries stay: `Exclusive` removes them, and `Observe` manages nothing. */
function viewUnmanaged({ progress, gathered }: RunFacts): OutcomeView[] {
  // A rule that declares the entry comes before one that has expired.
  const rules = [...(progress ?? [])].toSorted(([a], [b]) => Number(a.expired) - Number(b.expired));
  const views = rules.flatMap(([{ id, list, rule, expired, expiresAtMs }, { foreign }]): OutcomeView[] => {
    if (gathered.instance.policies[list] !== "Additive" || rule.meta.deleting) return [];
    const left = `unmanaged, and stays although ${ruleLabel(id)} has expired`;
    const when = expiresAtMs === undefined ? "when no rule declares it any longer" : "after the rule expires";
    const stays = `${ruleLabel(id)} is satisfied by an unmanaged entry, which stays ${when}`;
    return foreign.map((value) => ({ outcome: "Unmanaged", target: list, value, reason: expired ? left : stays }));
  });
  // An entry of several rules is one.
  const byEntry = Map.groupBy(views, ({ target, value }) => `${target} ${value}`);
  return [...byEntry.values()].flatMap(([first]) => first ?? []);
}

// Formats instances for people: the result of a run as a table of objects with counts, problems and notes, and a plan as its outcomes.

/** Objects with problems, with entries of feeds that are not applied, and what to do. A trouble of the whole instance is not among them. */
export function problemLines({ warnings, objects, trouble }: InstanceView, paint: Paint): string[] {
  if (trouble !== undefined) return [];
  const known = objects.flatMap(({ ready, message }) => (ready === "False" ? [message] : []));
  const others = warnings.filter((warning) => !known.includes(warning));
  const lines = others.map((warning) => paint("yellow", `  warning: ${warning}`));
  for (const object of objects) {
    const isProblem = object.ready === "False" || !object.isAccepted;
    if (!isProblem && object.rejected.length === 0) continue;
    const [title, ...details] = objectLines(object, nameKey(object));
    lines.push(paint(isProblem ? "red" : "cyan", `  ${title}`), ...details.map((line) => `  ${line}`));
  }
  return lines;
}

const objectColumns: readonly TextColumn<ObjectView>[] = [
  { title: "Kind", cell: ({ kind }) => kind },
  { title: "Namespace", cell: ({ namespace }) => namespace },
  { title: "Name", cell: ({ name }) => name },
  { title: "Progress", cell: ({ progress }) => progress },
  { title: "Ready", cell: ({ ready }, paint) => paint(readyStyles[ready], ready) },
  { title: "Reason", cell: ({ reason }) => reason },
];

/** The objects of all instances. */
export function objectTable(views: readonly InstanceView[], paint: Paint): string[] {
  const rows = views.flatMap(({ objects }) => objects);
  return tableOf(objectColumns, rows, paint);
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

/** What was done, what differs from the declared state, and the verdict. Nothing for an instance that cannot be reconciled. */
export function instanceLines(view: InstanceView, { text, isClean }: Verdict, paint: Paint, isFull = false): string[] {
  if (view.trouble !== undefined) return [];
  const where = view.domain === undefined ? "" : ` → ${view.domain}`;
  const primary = view.primaryOrigin === undefined ? "" : paint("dim", `  (primary origin ${view.primaryOrigin})`);
  return [
    `${paint("bold", nameKey(view))}${where}${primary}`,
    ...(view.changes ?? []).map((change) => `  ${change}`),
    ...remarkLines(view, paint, isFull),
    paint(isClean ? "green" : "bold", `  ${text}`),
  ];
}

/** Differences and problems. */
export function remarkLines(view: InstanceView, paint: Paint, isFull = false): string[] {
  return [...differenceLines(view, paint, isFull), ...problemLines(view, paint)];
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
export function isIncomplete({ objects, suspended, outcomes }: InstanceView): boolean {
  const open = suspended ? ["Held", "Add", "Remove"] : ["Held"];
  const isOpen = outcomes.some(({ outcome }) => open.includes(outcome));
  return isOpen || objects.some(({ ready, isAccepted }) => ready === "False" || !isAccepted);
}

export function planVerdict(view: InstanceView, isFaulty: boolean): Verdict {
  if (view.trouble !== undefined) return { text: "No plan: the WAF cannot be reconciled.", isClean: false };
  if (view.outcomes.length > 0) return { text: `Plan: ${planSummary(view)}`, isClean: false };
  if (isFaulty || isPartial(view)) return { text: "Nothing to do for the other objects.", isClean: false };
  return { text: "Nothing to do: the WAF matches the declared state.", isClean: true };
}

/** Parts of the declared state are invalid, and therefore not in the plan. */
export function isPartial({ objects }: InstanceView): boolean {
  return objects.some(({ isAccepted }) => !isAccepted);
}

/** The mark and the words of each outcome, the most important first. What is rejected is shown with its object. */
const kinds = {
  Remove: { mark: "-", style: "red", words: "to remove" },
  Held: { mark: "!", style: "yellow", words: "on hold" },
  Add: { mark: "+", style: "green", words: "to add" },
  Adopt: { mark: "=", style: "cyan", words: "to adopt without a call" },
  ClearCache: { mark: "~", style: "cyan", words: "to clear the cache" },
  Waiting: { mark: "?", style: "yellow", words: "waiting" },
  Unmanaged: { mark: "*", style: "cyan", words: "already on the WAF and unmanaged" },
} as const;

/** Marks what the plan without the change contains as well, on hold or not: it is drift. */
export function markDrift(view: InstanceView, base: InstanceView | undefined): InstanceView {
  if (base === undefined) return view;
  const keyOf = ({ outcome, target, value }: OutcomeView): string => `${outcome} ${target} ${value}`;
  const known = new Set(base.outcomes.map(keyOf));
  const outcomes = view.outcomes.map((one): OutcomeView =>
    known.has(keyOf(one)) ? { ...one, isDrift: true, reason: `${one.reason}; drift, not this change` } : one,
  );
  return { ...view, outcomes };
}

/** The outcomes of one kind, in series that differ only in their value. What is drift comes last. */
export function blocksOf({ outcomes }: InstanceView) {
  const byKind = Map.groupBy(outcomes, ({ outcome }) => outcome);
  return Object.entries(kinds).flatMap(([outcome, kind]) => {
    const found = byKind.get(outcome as keyof typeof kinds) ?? [];
    const items = found.toSorted((a, b) => Number(a.isDrift ?? false) - Number(b.isDrift ?? false));
    const title = `${inThousands(items.length)} ${kind.words}`;
    return items.length === 0 ? [] : [{ ...kind, title, series: seriesIn(items) }];
  });
}

function seriesIn(items: readonly OutcomeView[]): OutcomeView[][] {
  const series: OutcomeView[][] = [];
  for (const item of items) {
    const { target, reason } = series.at(-1)?.[0] ?? {};
    if (target === item.target && reason === item.reason) series.at(-1)?.push(item);
    else series.push([item]);
  }
  return series;
}

/** One line each, in columns; long series and long plans are shortened. */
function differenceLines(view: InstanceView, paint: Paint, isFull: boolean): string[] {
  const lines = blocksOf(view).flatMap(({ mark, style, series }) => {
    // Entries are shown as the WAF's list spells them, which may include line breaks.
    const shown = series.map((items) => visibleTexts(isFull ? items : items.slice(0, linesPerReasonMax)));
    const widthOf = (field: "target" | "value") =>
      shown.flat().reduce((most, one) => Math.max(most, one[field].length), 0);
    const [targetWidth, valueWidth] = [widthOf("target"), widthOf("value")];
    return series.flatMap(({ length }, place) => {
      const items = shown[place] ?? [];
      const texts = items.map(({ target, value, reason, note }) => {
        const text = `  ${mark} ${target.padEnd(targetWidth)}  ${value.padEnd(valueWidth)}`;
        return `${paint(style, text)}  ${paint("dim", reason)}${note === undefined ? "" : `  # ${note}`}`;
      });
      const left = length - items.length;
      const more = `    ${" ".repeat(targetWidth)}  … and ${inThousands(left)} more like these`;
      return left > 0 ? [...texts, paint("dim", more)] : texts;
    });
  });
  if (isFull || lines.length <= linesShownMax) return lines;
  const left = inThousands(lines.length - linesShownMax);
  return [...lines.slice(0, linesShownMax), paint("dim", `  … and ${left} more lines (--full shows all)`)];
}

/** `3 to add, 0 to remove, one call each.` */
function planSummary({ outcomes }: InstanceView): string {
  const count = (wanted: OutcomeView["outcome"]): number => outcomes.filter(({ outcome }) => outcome === wanted).length;
  const clears = count("ClearCache");
  const others = (["Adopt", "Held", "Rejected", "Waiting", "Unmanaged"] as const).flatMap((outcome) => {
    const words = outcome === "Rejected" ? "rejected" : kinds[outcome].words;
    return count(outcome) === 0 ? [] : [`${inThousands(count(outcome))} ${words}`];
  });
  const parts = [`${inThousands(count("Add"))} to add`, `${inThousands(count("Remove"))} to remove`, ...others];
  if (count("Add") + count("Remove") + clears > 0) parts.push("one call each");
  if (clears > 0) parts.push("and one that clears the cache");
  const drifted = outcomes.filter(({ isDrift }) => isDrift).length;
  const ofThese = drifted === 0 ? "" : ` ${inThousands(drifted)} of these ${drifted === 1 ? "is" : "are"} drift.`;
  return `${parts.join(", ")}.${ofThese}`;
}
