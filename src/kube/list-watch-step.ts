// The decisions of the list-watch protocol, pure: (state, input) → (state, effects on the store, next command).
// Invariants: the store changes only by complete lists and by the watch events after them, never by a failure; every change
// and bookmark updates the position, but no error and no initial event of a watch-list does; there is always a next command,
// so nothing ends the loop.
import type { BackOff } from "../async/back-off.ts";
import { exponentialMs } from "../async/back-off.ts";
import { localFault, type ApiFault } from "./api-result.ts";
import type { KubeObject } from "./kube-object.ts";
import { isOlderVersion } from "./kube-object.ts";
import type { StoreEffect } from "./store.ts";
import type { ObjectPage } from "./verbs.ts";

/**
 * - `Listing`: reading all objects. `Watching`: following changes.
 * - `WaitingForKind`: the server does not know the kind; the store stays unchanged.
 * - `BackingOff`: a request failed; the store stays unchanged until an attempt succeeds.
 */
export type ListWatchActivity = "Listing" | "Watching" | "WaitingForKind" | "BackingOff";

/** What is being done, with the data that only this needs. A position is passed back to the server unchanged. */
type Doing =
  | { readonly type: "WatchList" }
  | { readonly type: "Pages" }
  | { readonly type: "Watch"; readonly position: string; readonly stream: Stream | undefined }
  /** Then the watch continues at the position; undefined if a new list is needed. */
  | { readonly type: "Wait"; readonly position: string | undefined };

/** An open stream. */
interface Stream {
  readonly openedAtMs: number;
  readonly hasChanges: boolean;
}

export interface ListWatchState {
  readonly activity: ListWatchActivity;
  readonly doing: Doing;
  /** The latest position ever seen, kept over relists, to detect a server that was restored from a backup. */
  readonly lastSeenVersion: string;
  /** How the next list is read. Changes with each failure, so that a defect in one way is not a dead end. */
  readonly listBy: "WatchList" | "Pages";
  /** Consecutive failures; reset after a healthy period. */
  readonly failures: number;
  /** When the current period without failures began. */
  readonly healthySinceMs: number;
  /** Consecutive streams that were closed because they were silent, with no line in between. */
  readonly silentRounds: number;
}

export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly endsInitialEvents: boolean }
  | { readonly type: "ERROR"; readonly fault: ApiFault };

export type StreamInput =
  | { readonly type: "StreamOpened" }
  | { readonly type: "StreamLine"; readonly event: WatchEvent }
  | { readonly type: "StreamEnded" }
  | { readonly type: "StreamSilent" }
  | { readonly type: "StreamFailed"; readonly fault: ApiFault };

export type ListWatchInput =
  | StreamInput
  | { readonly type: "Waited" }
  | { readonly type: "PageFailed"; readonly fault: ApiFault }
  | { readonly type: "PageRead"; readonly page: ObjectPage<KubeObject> };

/** What to do next instead of the current activity: if a stream is being read, it is closed. */
export type ListWatchCommand =
  /** From this position; undefined for a watch-list. */
  | { readonly type: "Open"; readonly position: string | undefined; readonly timeoutSeconds: number }
  | { readonly type: "ReadPages" }
  | { readonly type: "Wait"; readonly delayMs: number };

export type ListWatchEffect = StoreEffect | { readonly type: "Report"; readonly fault: ApiFault };

export interface ListWatchStep {
  readonly state: ListWatchState;
  readonly effects: readonly ListWatchEffect[];
  /** Undefined: continue the current activity. */
  readonly command?: ListWatchCommand;
}

/** Monotonic time, and a number from 0 to below 1. */
export interface StepContext {
  readonly nowMs: number;
  readonly random: () => number;
}

const watchSecondsMin = 300;
const watchSecondsSpread = 300;
const shortWatchMs = 1000;
/**
 * A server that was restored from a backup sends nothing for a position in its future. If it has passed that position again
 * before this is detected, it looks like a server that was never restored.
 */
const silentRoundsMax = 2;
const healthyMsMin = 120_000;
/** client-go's values. The jitter is as large as the delay, so that many replicas reconnect at different times. */
const reconnect: BackOff = { baseMs: 800, maxMs: 30_000 };
const delayMsMax = 60_000;

/** The first step: a list. */
export function beginListWatch(context: StepContext): ListWatchStep {
  const state: ListWatchState = {
    activity: "Listing",
    doing: { type: "WatchList" },
    lastSeenVersion: "",
    listBy: "WatchList",
    failures: 0,
    healthySinceMs: context.nowMs,
    silentRounds: 0,
  };
  return startList(state, context);
}

export function stepListWatch(state: ListWatchState, input: ListWatchInput, context: StepContext): ListWatchStep {
  switch (input.type) {
    case "Waited":
      return waited(state, context);
    case "PageRead":
      return takePage(state, input.page, context);
    case "StreamOpened":
      return { state: opened(state, context), effects: [] };
    case "StreamLine":
      return takeLine({ ...state, silentRounds: 0 }, input.event, context);
    case "StreamEnded":
      return streamEnded(state, context);
    case "StreamSilent":
      return fail({ ...state, silentRounds: state.silentRounds + 1 }, silent, context);
    case "StreamFailed":
    case "PageFailed":
      return fail(state, input.fault, context);
    default:
      return input satisfies never;
  }
}

const silent = localFault("TimedOut", "The watch was silent for too long");
const cutShort = localFault("Unavailable", "The stream ended before the initial list was complete");
const tooShort = localFault("Unavailable", "The watch ended immediately, without any change");
const wentBack = localFault("Gone", "The resourceVersion went back: the server has lost the latest changes");

function waited(state: ListWatchState, context: StepContext): ListWatchStep {
  const position = state.doing.type === "Wait" ? state.doing.position : undefined;
  return position === undefined ? startList(state, context) : startWatch(state, position, [], context);
}

function startList(state: ListWatchState, context: StepContext): ListWatchStep {
  const activity = state.activity === "WaitingForKind" ? "WaitingForKind" : "Listing";
  const doing: Doing = { type: state.listBy };
  const command: ListWatchCommand =
    state.listBy === "Pages"
      ? { type: "ReadPages" }
      : { type: "Open", position: undefined, timeoutSeconds: watchSeconds(context) };
  return { state: { ...state, activity, doing }, effects: [{ type: "StartCollecting" }], command };
}

function startWatch(
  state: ListWatchState,
  position: string,
  effects: readonly ListWatchEffect[],
  context: StepContext,
): ListWatchStep {
  const timeoutSeconds = watchSeconds(context);
  const command: ListWatchCommand = { type: "Open", position, timeoutSeconds };
  return { state: { ...state, doing: { type: "Watch", position, stream: undefined } }, effects, command };
}

/** With jitter, so that watches that started together do not all end together. The server ends them. */
function watchSeconds({ random }: StepContext): number {
  return watchSecondsMin + Math.floor(random() * watchSecondsSpread);
}

function opened(state: ListWatchState, { nowMs }: StepContext): ListWatchState {
  const { doing } = state;
  if (doing.type !== "Watch") return state;
  return { ...state, activity: "Watching", doing: { ...doing, stream: { openedAtMs: nowMs, hasChanges: false } } };
}

function takePage(
  state: ListWatchState,
  { items, resourceVersion, continueToken }: ObjectPage<KubeObject>,
  context: StepContext,
): ListWatchStep {
  const collect: ListWatchEffect = { type: "Collect", objects: items };
  if (continueToken !== "") return { state, effects: [collect] };
  const complete = completeList(state, resourceVersion, undefined);
  return startWatch(complete.state, resourceVersion, [collect, ...complete.effects], context);
}

/** Makes the collected objects the contents of the store; the changes after this position apply to them. */
function completeList(state: ListWatchState, position: string, stream: Stream | undefined): ListWatchStep {
  const announceAll = isOlderVersion(position, state.lastSeenVersion);
  const next: ListWatchState = {
    ...state,
    activity: "Watching",
    doing: { type: "Watch", position, stream },
    lastSeenVersion: position,
  };
  return { state: next, effects: [{ type: "Swap", announceAll }] };
}

function takeLine(state: ListWatchState, event: WatchEvent, context: StepContext): ListWatchStep {
  if (event.type === "ERROR") return fail(state, event.fault, context);
  const { doing } = state;
  return doing.type === "Watch" ? takeChange(state, doing, event, context) : takeInitialLine(state, event, context);
}

type PlainEvent = Exclude<WatchEvent, { type: "ERROR" }>;

/** Initial events come in any order of their versions: only the final bookmark gives a position. */
function takeInitialLine(state: ListWatchState, event: PlainEvent, { nowMs }: StepContext): ListWatchStep {
  switch (event.type) {
    case "BOOKMARK":
      if (!event.endsInitialEvents) return { state, effects: [] };
      return completeList(state, event.resourceVersion, { openedAtMs: nowMs, hasChanges: false });
    case "DELETED":
      return { state, effects: [{ type: "Uncollect", object: event.object }] };
    case "ADDED":
    case "MODIFIED":
      return { state, effects: [{ type: "Collect", objects: [event.object] }] };
    default:
      return event satisfies never;
  }
}

function takeChange(
  state: ListWatchState,
  doing: Extract<Doing, { type: "Watch" }>,
  event: PlainEvent,
  context: StepContext,
): ListWatchStep {
  const position = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
  if (isOlderVersion(position, doing.position)) return fail(state, wentBack, context);
  const next: ListWatchState = { ...state, doing: { ...doing, position }, lastSeenVersion: position };
  if (event.type === "BOOKMARK") return { state: next, effects: [] };
  const stream = doing.stream && { ...doing.stream, hasChanges: true };
  const type = event.type === "DELETED" ? "Remove" : "Put";
  const effects: ListWatchEffect[] = [{ type, object: event.object }];
  return { state: { ...next, doing: { ...doing, position, stream } }, effects };
}

/** The server ends every watch after its timeout, which is not a failure. A watch that ends immediately needs a delay. */
function streamEnded(state: ListWatchState, context: StepContext): ListWatchStep {
  const { doing } = state;
  if (doing.type !== "Watch") return fail(state, cutShort, context);
  const { openedAtMs, hasChanges } = doing.stream ?? { openedAtMs: context.nowMs, hasChanges: false };
  const isShort = context.nowMs - openedAtMs < shortWatchMs && !hasChanges;
  return isShort ? fail(state, tooShort, context) : startWatch(state, doing.position, [], context);
}

function fail(state: ListWatchState, fault: ApiFault, context: StepContext): ListWatchStep {
  const report: ListWatchEffect = { type: "Report", fault };
  if (state.doing.type === "WatchList" && isRefusal(fault)) {
    const pages = startList({ ...state, listBy: "Pages" }, context);
    return { ...pages, effects: [report, ...pages.effects] };
  }
  const { nowMs, random } = context;
  const kindIsMissing = fault.code === "NotFound";
  // A newly installed kind is often not ready for a moment, which does not justify the full delay.
  const kindHasCome = state.activity === "WaitingForKind" && !kindIsMissing;
  const isNewTrouble = nowMs - state.healthySinceMs >= healthyMsMin || kindHasCome;
  const failures = isNewTrouble ? 1 : state.failures + 1;
  const backOffMs = exponentialMs(reconnect, failures);
  const jitterMs = random() * backOffMs;
  const longMs = Math.min(delayMsMax, Math.max(backOffMs, fault.retryAfterMs ?? 0) + jitterMs);
  // A missing kind is found soon after its CRD is installed.
  const delayMs = Math.round(kindIsMissing ? (backOffMs + jitterMs) / 2 : longMs);
  const position = positionAfter(state, fault);
  const next: ListWatchState = {
    ...state,
    activity: kindIsMissing ? "WaitingForKind" : "BackingOff",
    doing: { type: "Wait", position },
    listBy: (!isPositionLost(fault) && otherWay[state.doing.type]) || state.listBy,
    failures,
    healthySinceMs: nowMs + delayMs,
    silentRounds: position === undefined ? 0 : state.silentRounds,
  };
  return { state: next, effects: [report], command: { type: "Wait", delayMs } };
}

const otherWay: Partial<Record<Doing["type"], ListWatchState["listBy"]>> = { WatchList: "Pages", Pages: "WatchList" };

/** The response of servers without watch-lists; other errors look different. */
function isRefusal({ code }: ApiFault): boolean {
  return code === "Invalid" || code === "Rejected";
}

/** Where the watch continues; undefined if a new list is needed. */
function positionAfter({ doing, silentRounds }: ListWatchState, fault: ApiFault): string | undefined {
  if (doing.type !== "Watch" || silentRounds >= silentRoundsMax) return undefined;
  return fault.code === "NotFound" || isPositionLost(fault) ? undefined : doing.position;
}

/** The position is too old for the server, or, after a restore, newer than anything it has. */
function isPositionLost({ code, causes }: ApiFault): boolean {
  return code === "Gone" || causes.includes("ResourceVersionTooLarge");
}
