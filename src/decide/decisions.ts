// The table of decisions. Three columns meet for each entry of a list: what the rules declare, what the list shows, and what the
// record says. A plan is what this table says about the rows whose columns disagree. It is the same for origins.
//
//   #  declared  shown  recorded   outcome
//   1  yes       yes    yes        InSync
//   2  yes       yes    –          Foreign: another writer added it, and it stays unmanaged. If the rule adopts it: Adopt
//   3  yes       –      yes        Add: another writer removed it, or our call is still to come
//   4  yes       –      –          Add
//   5  –         yes    yes        Remove
//   6  –         yes    –          Nothing: an entry of others. On an Exclusive list as row 5
//   7  –         –      yes        Missing. After a second read without it: Forget
//   8  –         –      –          does not happen
//
// - A deleted rule that retains the entry gives Release: it counts as not recorded. An undeclared one on an Exclusive list is removed.
// - A full list evicts a declared and managed entry like an undeclared one, but the record keeps it.
//
// A row decides alone. What needs the whole list comes after: the guards on removals, the order of the calls, and room.
import { formatTime } from "../model/texts.ts";
import { type EntryOwners, unknownOwners } from "../model/rule-id.ts";
import type { Manner, Refusal } from "../model/inventory.ts";

export type Row = `${"declared" | "-"} ${"shown" | "-"} ${"recorded" | "-"}`;

const decisions = {
  "declared shown recorded": inSync,
  "declared shown -": foreign,
  "declared - recorded": add,
  "declared - -": add,
  "- shown recorded": remove,
  "- shown -": others,
  "- - recorded": forget,
  "- - -": () => nothing,
} satisfies Record<Row, Decide>;

// The first that applies wins.
const insteadOfAdd: readonly Exception[] = [noRoom, primary, off, refused, contested];
const insteadOfRemove: readonly Exception[] = [primary, off, sourceBroken, refused, contested];

/** One entry or origin, and its three columns. */
export interface Line {
  readonly declared: boolean;
  readonly shown: boolean;
  readonly recorded: Recorded | undefined;
}

interface Recorded {
  readonly owners: EntryOwners;
  readonly manner: Manner;
  readonly retainedBy: string | undefined;
  readonly missingSinceMs?: number;
}

/** What decides between the outcomes of a row. */
export interface Context<L extends Line> {
  /** Why nothing is written; undefined if it is. */
  readonly off: string | undefined;
  /** Whether wafsync removes what others add. */
  readonly exclusive: boolean;
  /** Whether something may leave the record: not if what is declared could not be confirmed. */
  readonly mayForget: boolean;
  /** Whether something can't be read that may declare what no record assigns to a rule. */
  readonly isUnread: boolean;
  /** When the list was read, and the minimum time between two reads that miss an entry. */
  readonly readAtMs: number;
  readonly windowMs: number;
  /** Who last declared an entry, for people. */
  readonly formerOf: (owners: EntryOwners) => string;
  /** Whether one of the rules that retain it was deleted. */
  readonly isRetained: (line: L) => boolean;
  readonly isAdopted: (line: L) => boolean;
  readonly hasRoom: (line: L) => boolean;
  /** Whether it is the primary origin, which no call adds or removes. */
  readonly isPrimary: (line: L) => boolean;
  /** The refusals that still prevent the call. */
  readonly refusalsOf: (line: L, call: Call) => readonly Refusal[];
  /** Until when wafsync does not correct it, because another writer keeps changing it. */
  readonly contestedUntil: (line: L) => number | undefined;
}

export type Call = "Add" | "Remove";

export interface Outcome {
  readonly kind:
    | "InSync"
    | "Foreign"
    | "Adopt"
    | "Add"
    | "Remove"
    | "Nothing"
    | "Missing"
    | "Forget"
    | "Release"
    | "Off"
    | "NoRoom"
    | "Primary"
    | "SourceBroken"
    | "Refused"
    | "Contested"
    /** The API refuses an entry that shares addresses with it. */
    | "Waiting"
    /** Only the whole list shows that it has to wait for a person. */
    | "Held";
  /** For people: part of a sentence. */
  readonly reason: string;
  /** The call that an exception prevents. */
  readonly insteadOf?: Call;
  readonly refusals?: readonly Refusal[];
  /** When the pause of a contested row ends. */
  readonly untilMs?: number;
}

type Decide = <L extends Line>(line: L, context: Context<L>) => Outcome;
type Exception = <L extends Line>(line: L, context: Context<L>, call: Call) => Outcome | undefined;

export function decide<L extends Line>(line: L, context: Context<L>): Outcome {
  return decisions[rowOf(line)](line, context);
}

export function rowOf({ declared, shown, recorded }: Line): Row {
  if (declared) {
    if (shown) return recorded === undefined ? "declared shown -" : "declared shown recorded";
    return recorded === undefined ? "declared - -" : "declared - recorded";
  }
  if (shown) return recorded === undefined ? "- shown -" : "- shown recorded";
  return recorded === undefined ? "- - -" : "- - recorded";
}

/** Whether the call is planned, or only off. */
export function intends({ kind, insteadOf }: Outcome, call: Call): boolean {
  return kind === call || (kind === "Off" && insteadOf === call);
}

/** Whether it leaves the record, since a deleted rule retains it. If other rules declare it, they would remove it otherwise. */
export function isReleased<L extends Line>(line: L, context: Context<L>): boolean {
  if (line.recorded?.retainedBy === undefined || !context.mayForget) return false;
  return (line.declared || !context.exclusive) && context.isRetained(line);
}

const released: Outcome = { kind: "Release", reason: "its rule was deleted, and retains it" };
const added: Outcome = { kind: "Add", reason: "declared" };
/** Why an entry is not added, or evicted. */
export const fullList = "the list has no room for it";

function inSync<L extends Line>(line: L, context: Context<L>): Outcome {
  if (isReleased(line, context)) {
    const outcome = foreign(line, context);
    return outcome.kind === "Foreign" ? released : outcome;
  }
  return context.hasRoom(line) ? agreeing : insteadOf("Remove", line, context, fullList);
}

function foreign<L extends Line>(line: L, context: Context<L>): Outcome {
  // Managed until now: an entry of others never makes room.
  if (context.exclusive && !context.hasRoom(line)) return insteadOf("Remove", line, context, fullList);
  const isAdopted = context.off === undefined && context.isAdopted(line);
  return isAdopted ? { kind: "Adopt", reason: "adopted" } : { kind: "Foreign", reason: "another writer added it" };
}

function add<L extends Line>(line: L, context: Context<L>): Outcome {
  return exceptionTo("Add", line, context) ?? added;
}

function remove<L extends Line>(line: L, context: Context<L>): Outcome {
  const { recorded } = line;
  if (!context.exclusive && context.isRetained(line)) return released;
  if (context.exclusive || recorded === undefined) {
    return insteadOf("Remove", line, context, "declared by no rule, and the policy is Exclusive");
  }
  const how = recorded.manner === "Adopted" ? "adopted" : "added";
  const former = context.formerOf(recorded.owners);
  const reason = `${how} by wafsync, and no rule declares it any longer${former === "" ? "" : `; ${former}`}`;
  return insteadOf("Remove", line, context, reason);
}

function others<L extends Line>(line: L, context: Context<L>): Outcome {
  return context.exclusive ? remove(line, context) : { kind: "Nothing", reason: "an entry of others" };
}

function forget<L extends Line>(line: L, context: Context<L>): Outcome {
  if (isReleased(line, context)) return released;
  const { mayForget, windowMs, readAtMs } = context;
  const sinceMs = line.recorded?.missingSinceMs;
  const isSecond = windowMs === 0 || (sinceMs !== undefined && readAtMs - sinceMs >= windowMs);
  return mayForget && isSecond
    ? { kind: "Forget", reason: "two reads did not contain it" }
    : { kind: "Missing", reason: "leaves the record after a second read without it" };
}

/** The outcome of a row that agrees, and is not visited. */
export const agreeing: Outcome = { kind: "InSync", reason: "declared" };
/** What happens to a row that no column has. */
export const nothing: Outcome = { kind: "Nothing", reason: "neither declared nor on the list" };

function insteadOf<L extends Line>(call: Call, line: L, context: Context<L>, reason: string): Outcome {
  return exceptionTo(call, line, context) ?? { kind: call, reason };
}

function exceptionTo<L extends Line>(call: Call, line: L, context: Context<L>): Outcome | undefined {
  for (const exception of call === "Add" ? insteadOfAdd : insteadOfRemove) {
    const found = exception(line, context, call);
    if (found !== undefined) return found;
  }
  return undefined;
}

function noRoom<L extends Line>(line: L, context: Context<L>, call: Call): Outcome | undefined {
  return context.hasRoom(line) ? undefined : { kind: "NoRoom", reason: fullList, insteadOf: call };
}

function primary<L extends Line>(line: L, context: Context<L>, call: Call): Outcome | undefined {
  if (!context.isPrimary(line)) return undefined;
  return { kind: "Primary", reason: "it is the primary origin", insteadOf: call };
}

function off<L extends Line>(_: L, context: Context<L>, call: Call): Outcome | undefined {
  return context.off === undefined ? undefined : { kind: "Off", reason: context.off, insteadOf: call };
}

function sourceBroken<L extends Line>({ recorded }: L, context: Context<L>, call: Call): Outcome | undefined {
  const isUnknown = (recorded?.owners ?? unknownOwners) === unknownOwners;
  if (!context.isUnread || !isUnknown) return undefined;
  return { kind: "SourceBroken", reason: "something may declare it that can't be read", insteadOf: call };
}

function refused<L extends Line>(line: L, context: Context<L>, call: Call): Outcome | undefined {
  const refusals = context.refusalsOf(line, call);
  const [first] = refusals;
  if (first === undefined) return undefined;
  const reason = `the API refused to ${call === "Add" ? "add" : "remove"} it: ${first.message}`;
  return { kind: "Refused", reason, insteadOf: call, refusals };
}

function contested<L extends Line>(line: L, context: Context<L>, call: Call): Outcome | undefined {
  const untilMs = context.contestedUntil(line);
  if (untilMs === undefined) return undefined;
  const reason = `another writer keeps reverting it: corrections are paused until ${formatTime(untilMs)}`;
  return { kind: "Contested", reason, insteadOf: call, untilMs };
}
