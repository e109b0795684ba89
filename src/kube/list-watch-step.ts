// The decisions of the list-watch protocol, pure: (state, input) → (state, effects on the store, next command).
// Invariants: the store changes only by complete lists and by the watch events after them, never by a failure; every change
// and bookmark updates the position, but no error and no initial event of a watch-list does; there is always a next command,
// so nothing ends the loop.
import type { BackOff } from "../async/back-off.ts";
import { exponentialMs } from "../async/back-off.ts";
import { localFault, type ApiFault } from "./api-result.ts";
import type { KubeObject } from "./kube-object.ts";
import { isOlderVersion } from "./kube-object.ts";

/**
 * - `Listing`: reading all objects. `Watching`: following changes.
 * - `WaitingForKind`: the server does not know the kind; the store stays unchanged.
 * - `BackingOff`: a request failed; the store stays unchanged until an attempt succeeds.
 */
export const listWatchActivities = ["Listing", "Watching", "WaitingForKind", "BackingOff"] as const;
export type ListWatchActivity = (typeof listWatchActivities)[number];

export interface ListWatchState {
  readonly activity: ListWatchActivity;
  readonly doing: "WatchList" | "Pages" | "Watch" | "Wait";
  /** The activity after a wait. */
  readonly afterWait: "List" | "Watch";
  /** Where a watch continues; empty if a new list is needed. Passed back to the server unchanged. */
  readonly resourceVersion: string;
  /** The latest position ever seen, kept over relists, to detect a server that was restored from a backup. */
  readonly lastSeenVersion: string;
  readonly nextListBy: "WatchList" | "Pages";
  /** The server does not support watch-lists. */
  readonly watchListRefused: boolean;
  readonly pageSize: number;
  readonly pagesRead: number;
  /** Consecutive failures; reset after a healthy period. */
  readonly failures: number;
  /** When the current period without failures began. */
  readonly healthySinceMs: number;
  /** Consecutive streams that were closed because they were silent, with no line in between. */
  readonly silentRounds: number;
  readonly streamOpenedAtMs: number;
  /** The number of changes that the current stream has delivered. */
  readonly streamChanges: number;
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
  | {
      readonly type: "PageRead";
      readonly objects: readonly KubeObject[];
      readonly resourceVersion: string;
      readonly continueToken: string;
    };

/** What to do next instead of the current activity: if a stream is being read, it is closed. */
export type ListWatchCommand =
  | { readonly type: "OpenWatchList"; readonly timeoutSeconds: number }
  | { readonly type: "OpenWatch"; readonly resourceVersion: string; readonly timeoutSeconds: number }
  | { readonly type: "FetchPage"; readonly continueToken: string; readonly limit: number }
  | { readonly type: "Wait"; readonly delayMs: number };

/** Changes of the store, to be applied immediately and in order. Collected objects are invisible until `Swap`. */
export type ListWatchEffect =
  | { readonly type: "StartCollecting" }
  | { readonly type: "Collect"; readonly objects: readonly KubeObject[] }
  | { readonly type: "Uncollect"; readonly object: KubeObject }
  /** With `announceAll`, objects that look unchanged are announced as well. */
  | { readonly type: "Swap"; readonly announceAll: boolean }
  | { readonly type: "Deliver"; readonly change: "Put" | "Remove"; readonly object: KubeObject }
  | { readonly type: "Report"; readonly fault: ApiFault };

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

export const pageSizeDefault = 500;
const pageSizeDivisor = 5;
const pagesMax = 10_000;
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
  return startList(
    {
      activity: "Listing",
      doing: "Wait",
      afterWait: "List",
      resourceVersion: "",
      lastSeenVersion: "",
      nextListBy: "WatchList",
      watchListRefused: false,
      pageSize: pageSizeDefault,
      pagesRead: 0,
      failures: 0,
      healthySinceMs: context.nowMs,
      silentRounds: 0,
      streamOpenedAtMs: context.nowMs,
      streamChanges: 0,
    },
    context,
  );
}

export function stepListWatch(state: ListWatchState, input: ListWatchInput, context: StepContext): ListWatchStep {
  switch (input.type) {
    case "Waited":
      return state.afterWait === "List" ? startList(state, context) : startWatch(state, [], context);
    case "PageRead":
      return takePage(state, input, context);
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

function startList(state: ListWatchState, context: StepContext): ListWatchStep {
  const by = state.watchListRefused ? "Pages" : state.nextListBy;
  const activity = state.activity === "WaitingForKind" ? "WaitingForKind" : "Listing";
  const next: ListWatchState = { ...state, activity, doing: by, resourceVersion: "", pagesRead: 0 };
  const command: ListWatchCommand =
    by === "Pages"
      ? { type: "FetchPage", continueToken: "", limit: state.pageSize }
      : { type: "OpenWatchList", timeoutSeconds: watchSeconds(context) };
  return { state: next, effects: [{ type: "StartCollecting" }], command };
}

function startWatch(state: ListWatchState, effects: readonly ListWatchEffect[], context: StepContext): ListWatchStep {
  const { resourceVersion } = state;
  const command: ListWatchCommand = { type: "OpenWatch", resourceVersion, timeoutSeconds: watchSeconds(context) };
  return { state: { ...state, doing: "Watch", streamChanges: 0 }, effects, command };
}

/** With jitter, so that watches that started together do not all end together. The server ends them. */
function watchSeconds({ random }: StepContext): number {
  return watchSecondsMin + Math.floor(random() * watchSecondsSpread);
}

function opened(state: ListWatchState, { nowMs }: StepContext): ListWatchState {
  const activity = state.doing === "Watch" ? "Watching" : state.activity;
  return { ...state, activity, streamOpenedAtMs: nowMs, streamChanges: 0 };
}

function takePage(
  state: ListWatchState,
  page: Extract<ListWatchInput, { type: "PageRead" }>,
  context: StepContext,
): ListWatchStep {
  const collect: ListWatchEffect = { type: "Collect", objects: page.objects };
  const pagesRead = state.pagesRead + 1;
  if (page.continueToken === "") {
    const complete = completeList(state, page.resourceVersion);
    return startWatch(complete.state, [collect, ...complete.effects], context);
  }
  if (pagesRead >= pagesMax) return fail(state, localFault("BodyTooLarge", "The list has too many pages"), context);
  const command: ListWatchCommand = {
    type: "FetchPage",
    continueToken: page.continueToken,
    limit: state.pageSize,
  };
  return { state: { ...state, pagesRead }, effects: [collect], command };
}

/** Makes the collected objects the contents of the store; the changes after this position apply to them. */
function completeList(state: ListWatchState, resourceVersion: string): ListWatchStep {
  const announceAll = isOlderVersion(resourceVersion, state.lastSeenVersion);
  const next: ListWatchState = {
    ...state,
    activity: "Watching",
    doing: "Watch",
    resourceVersion,
    lastSeenVersion: resourceVersion,
    nextListBy: "WatchList",
    streamChanges: 0,
  };
  return { state: next, effects: [{ type: "Swap", announceAll }] };
}

function takeLine(state: ListWatchState, event: WatchEvent, context: StepContext): ListWatchStep {
  if (event.type === "ERROR") return fail(state, event.fault, context);
  return state.doing === "WatchList" ? takeInitialLine(state, event) : takeChange(state, event, context);
}

type PlainEvent = Exclude<WatchEvent, { type: "ERROR" }>;

/** Initial events come in any order of their versions: only the final bookmark gives a position. */
function takeInitialLine(state: ListWatchState, event: PlainEvent): ListWatchStep {
  switch (event.type) {
    case "BOOKMARK":
      return event.endsInitialEvents ? completeList(state, event.resourceVersion) : { state, effects: [] };
    case "DELETED":
      return { state, effects: [{ type: "Uncollect", object: event.object }] };
    case "ADDED":
    case "MODIFIED":
      return { state, effects: [{ type: "Collect", objects: [event.object] }] };
    default:
      return event satisfies never;
  }
}

function takeChange(state: ListWatchState, event: PlainEvent, context: StepContext): ListWatchStep {
  const resourceVersion = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
  if (isOlderVersion(resourceVersion, state.resourceVersion)) return fail(state, wentBack, context);
  const next = { ...state, resourceVersion, lastSeenVersion: resourceVersion };
  if (event.type === "BOOKMARK") return { state: next, effects: [] };
  const change = event.type === "DELETED" ? "Remove" : "Put";
  const effects: ListWatchEffect[] = [{ type: "Deliver", change, object: event.object }];
  return { state: { ...next, streamChanges: state.streamChanges + 1 }, effects };
}

/** The server ends every watch after its timeout, which is not a failure. A watch that ends immediately needs a delay. */
function streamEnded(state: ListWatchState, context: StepContext): ListWatchStep {
  if (state.doing !== "Watch") return fail(state, cutShort, context);
  const isShort = context.nowMs - state.streamOpenedAtMs < shortWatchMs && state.streamChanges === 0;
  return isShort ? fail(state, tooShort, context) : startWatch(state, [], context);
}

function fail(state: ListWatchState, fault: ApiFault, context: StepContext): ListWatchStep {
  const report: ListWatchEffect = { type: "Report", fault };
  if (state.doing === "WatchList" && isRefusal(fault)) {
    const pages = startList({ ...state, watchListRefused: true }, context);
    return { ...pages, effects: [report, ...pages.effects] };
  }
  const { nowMs, random } = context;
  const kindIsMissing = fault.code === "NotFound";
  const isNewTrouble = nowMs - state.healthySinceMs >= healthyMsMin || kindHasCome(state, kindIsMissing);
  const failures = isNewTrouble ? 1 : state.failures + 1;
  const backOffMs = exponentialMs(reconnect, failures);
  const jitterMs = random() * backOffMs;
  const longMs = Math.min(delayMsMax, Math.max(backOffMs, fault.retryAfterMs ?? 0) + jitterMs);
  // A missing kind is found soon after its CRD is installed.
  const delayMs = Math.round(kindIsMissing ? (backOffMs + jitterMs) / 2 : longMs);
  const relist = needsList(state, fault);
  const next: ListWatchState = {
    ...state,
    activity: kindIsMissing ? "WaitingForKind" : "BackingOff",
    doing: "Wait",
    afterWait: relist ? "List" : "Watch",
    nextListBy: nextListBy(state, fault),
    pageSize:
      fault.code === "BodyTooLarge" ? Math.max(1, Math.floor(state.pageSize / pageSizeDivisor)) : state.pageSize,
    failures,
    healthySinceMs: nowMs + delayMs,
    silentRounds: relist ? 0 : state.silentRounds,
  };
  return { state: next, effects: [report], command: { type: "Wait", delayMs } };
}

/** A newly installed kind is often not ready for a moment, which does not justify the full delay. */
function kindHasCome({ activity }: ListWatchState, kindIsMissing: boolean): boolean {
  return activity === "WaitingForKind" && !kindIsMissing;
}

/** The response of servers without watch-lists; other errors look different. */
function isRefusal({ code }: ApiFault): boolean {
  return code === "Invalid" || code === "Rejected";
}

function needsList(state: ListWatchState, fault: ApiFault): boolean {
  if (state.doing !== "Watch" || state.silentRounds >= silentRoundsMax) return true;
  return fault.code === "NotFound" || isPositionLost(fault);
}

/** The position is too old for the server, or, after a restore, newer than anything it has. */
function isPositionLost({ code, causes }: ApiFault): boolean {
  return code === "Gone" || causes.includes("ResourceVersionTooLarge");
}

/** Alternates between the two ways of listing, so that a defect in one is not a dead end. */
function nextListBy(state: ListWatchState, fault: ApiFault): ListWatchState["nextListBy"] {
  if (state.doing === "WatchList" && !isPositionLost(fault)) return "Pages";
  return "WatchList";
}
