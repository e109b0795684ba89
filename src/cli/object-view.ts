// What is shown about one object, the same for people and for `-o json`: its condition Ready, the entries that are not applied, and the removals
// on hold with the command that approves them, in lines that stay readable on a narrow terminal.
import { type Condition, detailOf, findCondition } from "../kinds/conditions.ts";
import type { ObjectSummary } from "../kinds/summary.ts";
import type { HeldGroup } from "../kinds/waf-instance.ts";
import { nameKey, type ObjectName, type ResourceRef } from "../model/resource.ts";
import { counted, inThousands, visibleTexts } from "../model/texts.ts";

const entriesShownMax = 5;
const examplesShownMax = 3;
/** More entries than this get a line each. */
const inLineMax = 10;

/** An object, and what was reported about it. */
export interface ReportedObject extends ResourceRef {
  /** Undefined before the first report. */
  readonly status: Readonly<Record<string, unknown>> | undefined;
  /** Why a rule exists, in its author's words. */
  readonly description?: string | undefined;
  /** Of a rule, if it is known better than its status. */
  readonly progress?: string | undefined;
  /** In a folder: the place of the object, or of the entry that its status identifies by `source`: `rules.yaml:12`. */
  readonly placeOf?: (source?: string) => string;
}

/** An entry that is not applied as it is declared, and why. */
type EntryView = ObjectSummary["rejected"][number];

/** What is read of the status of any object. */
export interface Reported {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly rejected?: readonly EntryView[];
  readonly entries?: { readonly desired?: number; readonly rejected?: number };
}

export type ObjectView = ReturnType<typeof viewObject>;

export function viewObject({ status = {}, placeOf, description, progress, ...object }: ReportedObject) {
  const { conditions = [], rejected = [], entries } = status as Reported;
  const ready = findCondition(conditions, "Ready");
  const accepted = findCondition(conditions, "Accepted");
  const isAccepted = accepted?.status !== "False";
  const shown = isAccepted || ready?.status === "False" ? "Ready" : "Accepted";
  const known = [progress, ...["progress", "synced", "state", "lastTrigger", "domain"].map((field) => status[field])];
  const reported = known.find((one) => one !== undefined);
  const { kind, namespace, name } = object;
  return {
    kind,
    namespace,
    name,
    description: description === "" ? undefined : description,
    /**
     * `120/10000` or `expired` for a rule, `3/3` for an automatic block, the state for an origin, the last handled trigger for a cache clear,
     * the domain for an instance.
     */
    progress: typeof reported === "string" ? reported : "",
    ready: ready?.status ?? ("Unknown" as const),
    reason: findCondition(conditions, shown)?.reason ?? "",
    message: detailOf(conditions, shown) ?? "No reconcile run has reported on it yet.",
    /** The place of its declaration: `rules.yaml:1`. */
    place: placeOf?.(),
    /** False if it, or a part of it, is invalid and has to be corrected. */
    isAccepted,
    /** For a rule: how many entries are not applied, and the first of them. */
    rejectedCount: entries?.rejected ?? rejected.length,
    rejected: rejected.map((entry) => ({ ...entry, place: placeOf?.(entry.source) })),
  };
}

type Shown = Pick<ObjectSummary, "kind" | "ready" | "reason" | "message"> & Partial<ObjectSummary>;

/** The state of an object in lines: its reason, and its message, unless that is empty, or the first of its entries that are not applied. */
export function objectLines(object: Shown, name: string): readonly [string, ...string[]] {
  const { kind, place, description, ready, reason, message, isAccepted = true, rejected = [] } = object;
  const { rejectedCount = rejected.length } = object;
  const count =
    isAccepted && ready !== "False"
      ? counted(rejectedCount, "entry of a feed is", "entries of feeds are")
      : `${reason}, ${counted(rejectedCount, "entry is", "entries are")}`;
  const state = rejected.length === 0 ? reason || "Unknown" : `${count} not applied`;
  return [
    `${place === undefined ? "" : `${place}: `}${kind} ${name}: ${state}`,
    ...(rejected.length > 0 ? entryLines(rejected, rejectedCount) : message === "" ? [] : [`  ${message}`]),
    ...(description === undefined ? [] : [`  Description: ${description}`]),
  ];
}

function entryLines(rejected: readonly EntryView[], count: number): string[] {
  const shown = rejected.slice(0, entriesShownMax);
  const lines = shown.map(({ entry, source, message, place }) => {
    const at = place === undefined ? source : `${place}: ${source}`;
    return `  ${at}: ${message.includes(entry) ? "" : `${entry}: `}${message}`;
  });
  const left = count - shown.length;
  return left > 0 ? [...lines, `  … and ${inThousands(left)} more`] : lines;
}

/** The record in a folder from a repository may contain any names. */
export function holdLines(groups: readonly HeldGroup[], shownMax = examplesShownMax): string[] {
  return visibleTexts(groups).flatMap(({ list, count, owners, examples, reason }) => {
    const whose = owners === "" ? "" : `, last declared by ${owners}`;
    const shown = examples.slice(0, shownMax);
    const more = count > shown.length ? ", …" : "";
    const entries = shown.length > inLineMax ? shown : [`${shown.join(", ")}${more}`];
    return [
      `  ${counted(count, "removal", "removals")} from the ${list}${whose}`,
      ...entries.map((entry) => `    ${entry}`),
      `    ${reason}`,
    ];
  });
}

/** @param words the options that select the target: see `targetWords` */
export function approveCommand(words: string, instance: ObjectName): string {
  return `wafsync approve ${words}--instance ${nameKey(instance)}`;
}
