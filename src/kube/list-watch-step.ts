// The decisions of the list-watch protocol, pure: (state, input) → (state, effects on the store, next command).
// Invariants: the store changes only by complete lists and by the watch events after them, never by a failure; every change
// and bookmark updates the position, but no error does; there is always a next command, so nothing ends the loop.
import type { BackOff } from "../async/back-off.ts";
import { exponentialMs } from "../async/back-off.ts";
import { localFault, type ApiFault } from "./api-server.ts";
import type { KubeObject } from "./kube-object.ts";
import { isOlderVersion } from "./kube-object.ts";
import type { ObjectList } from "./verbs.ts";

/**
 * - `Listing`: reading all objects. `Watching`: following changes.
 * - `WaitingForKind`: the server does not know the kind; the store stays unchanged.
 * - `BackingOff`: a request failed; the store stays unchanged until an attempt succeeds.
 */
export type ListWatchActivity = "Listing" | "Watching" | "WaitingForKind" | "BackingOff";

/** An open stream. */
interface Stream {
  readonly openedAtMs: number;
  readonly hasChanges: boolean;
}

export interface ListWatchState {
  readonly activity: ListWatchActivity;
  /** Where the watch continues, passed back to the server unchanged; undefined if a new list is needed. */
  readonly position: string | undefined;
  /** Undefined unless the watch is open. */
  readonly stream: Stream | undefined;
  /** The latest position ever seen, kept over relists, to detect a server that was restored from a backup. */
  readonly lastSeenVersion: string;
  /** Consecutive failures; reset after a healthy period. */
  readonly failures: number;
  /** When the current period without failures began. */
  readonly healthySinceMs: number;
  /** Consecutive streams that were closed because they were silent, with no line in between. */
  readonly silentRounds: number;
}

export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string }
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
  | { readonly type: "ListFailed"; readonly fault: ApiFault }
  | { readonly type: "Listed"; readonly list: ObjectList<KubeObject> };

/** What to do next instead of the current activity: if a stream is being read, it is closed. */
export type ListWatchCommand =
  | { readonly type: "Open"; readonly position: string; readonly timeoutSeconds: number }
  | { readonly type: "List" }
  | { readonly type: "Wait"; readonly delayMs: number };

/** A change of the store, to be applied immediately, or a failure. */
export type ListWatchEffect =
  /** With `announceAll`, objects that look unchanged are announced as well. */
  | { readonly type: "Replace"; readonly objects: readonly KubeObject[]; readonly announceAll: boolean }
  | { readonly type: "Put" | "Remove"; readonly object: KubeObject }
  | { readonly type: "Report"; readonly fault: ApiFault };

export interface ListWatchStep {
  readonly state: ListWatchState;
  readonly effect?: ListWatchEffect;
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

/** Begins with the command `List`. */
export function initialListWatch(nowMs: number): ListWatchState {
  return {
    activity: "Listing",
    position: undefined,
    stream: undefined,
    lastSeenVersion: "",
    failures: 0,
    healthySinceMs: nowMs,
    silentRounds: 0,
  };
}

export function stepListWatch(state: ListWatchState, input: ListWatchInput, context: StepContext): ListWatchStep {
  switch (input.type) {
    case "Waited":
      return proceed(state, context);
    case "Listed":
      return takeList(state, input.list, context);
    case "StreamOpened":
      return {
        state: { ...state, activity: "Watching", stream: { openedAtMs: context.nowMs, hasChanges: false } },
      };
    case "StreamLine":
      return takeLine({ ...state, silentRounds: 0 }, input.event, context);
    case "StreamEnded":
      return streamEnded(state, context);
    case "StreamSilent":
      return fail({ ...state, silentRounds: state.silentRounds + 1 }, silent, context);
    case "StreamFailed":
    case "ListFailed":
      return fail(state, input.fault, context);
    default:
      return input satisfies never;
  }
}

const silent = localFault("TimedOut", "The watch was silent for too long");
const tooShort = localFault("Unavailable", "The watch ended immediately, without any change");
const wentBack = localFault("Gone", "The resourceVersion went back: the server has lost the latest changes");

/** Opens the watch at the position, or reads a new list. */
function proceed(state: ListWatchState, context: StepContext): ListWatchStep {
  const { position } = state;
  if (position !== undefined) {
    const command = { type: "Open", position, timeoutSeconds: watchSeconds(context) } as const;
    return { state: { ...state, stream: undefined }, command };
  }
  const activity = state.activity === "WaitingForKind" ? "WaitingForKind" : "Listing";
  return { state: { ...state, activity, stream: undefined }, command: { type: "List" } };
}

/** With jitter, so that watches that started together do not all end together. The server ends them. */
function watchSeconds({ random }: StepContext): number {
  return watchSecondsMin + Math.floor(random() * watchSecondsSpread);
}

/** Makes the list the contents of the store; the changes after its position apply to it. */
function takeList(
  state: ListWatchState,
  { items, resourceVersion }: ObjectList<KubeObject>,
  context: StepContext,
): ListWatchStep {
  const announceAll = isOlderVersion(resourceVersion, state.lastSeenVersion);
  const position = resourceVersion;
  const next: ListWatchState = { ...state, activity: "Watching", position, lastSeenVersion: position };
  return { ...proceed(next, context), effect: { type: "Replace", objects: items, announceAll } };
}

function takeLine(state: ListWatchState, event: WatchEvent, context: StepContext): ListWatchStep {
  if (event.type === "ERROR") return fail(state, event.fault, context);
  const position = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
  if (isOlderVersion(position, state.position ?? "")) return fail(state, wentBack, context);
  const next: ListWatchState = { ...state, position, lastSeenVersion: position };
  if (event.type === "BOOKMARK") return { state: next };
  const stream = state.stream && { ...state.stream, hasChanges: true };
  const type = event.type === "DELETED" ? "Remove" : "Put";
  return { state: { ...next, stream }, effect: { type, object: event.object } };
}

/** The server ends every watch after its timeout, which is not a failure. A watch that ends immediately needs a delay. */
function streamEnded(state: ListWatchState, context: StepContext): ListWatchStep {
  const { openedAtMs, hasChanges } = state.stream ?? { openedAtMs: context.nowMs, hasChanges: false };
  const isShort = context.nowMs - openedAtMs < shortWatchMs && !hasChanges;
  return isShort ? fail(state, tooShort, context) : proceed(state, context);
}

function fail(state: ListWatchState, fault: ApiFault, context: StepContext): ListWatchStep {
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
  const position = isPositionLost(state, fault) ? undefined : state.position;
  const next: ListWatchState = {
    ...state,
    activity: kindIsMissing ? "WaitingForKind" : "BackingOff",
    position,
    failures,
    healthySinceMs: nowMs + delayMs,
    silentRounds: position === undefined ? 0 : state.silentRounds,
  };
  return { state: next, effect: { type: "Report", fault }, command: { type: "Wait", delayMs } };
}

/** The position is too old for the server, or, after a restore, newer than anything it has. */
function isPositionLost({ silentRounds }: ListWatchState, { code, causes }: ApiFault): boolean {
  if (silentRounds >= silentRoundsMax || code === "NotFound" || code === "Gone") return true;
  return causes.includes("ResourceVersionTooLarge");
}
