// The types of the list-watch state machine: its state, its inputs, its effects and its commands.
import type { ApiFault } from "./api-result.ts";
import type { KubeObject } from "./kube-object.ts";

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
