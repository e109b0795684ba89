// The words of the list-watch protocol: what its state machine knows, what happens to it, and what it asks for.
import type { ApiFault } from "./api-result.ts";
import type { KubeObject } from "./kube-object.ts";

/**
 * - `Listing`: reading everything. `Watching`: following changes.
 * - `WaitingForKind`: the server does not know the kind (yet); the store stays as it is.
 * - `BackingOff`: something failed; the store stays as it is until the next attempt succeeds.
 */
export const listWatchActivities = ["Listing", "Watching", "WaitingForKind", "BackingOff"] as const;
export type ListWatchActivity = (typeof listWatchActivities)[number];

export interface ListWatchState {
  readonly activity: ListWatchActivity;
  readonly doing: "WatchList" | "Pages" | "Watch" | "Wait";
  /** What follows a wait. */
  readonly afterWait: "List" | "Watch";
  /** Where a watch goes on from; empty if only a list can help. Passed back to the server as it came. */
  readonly resourceVersion: string;
  /** The last position of all, kept over relists, to notice a server that went back in time. */
  readonly lastSeenVersion: string;
  readonly nextListBy: "WatchList" | "Pages";
  /** The server does not know watch-lists: don't try again. */
  readonly watchListRefused: boolean;
  readonly pageSize: number;
  readonly pagesRead: number;
  /** Failures in a row; starts over after a healthy time. */
  readonly failures: number;
  /** Since when there was no failure. */
  readonly healthySinceMs: number;
  /** Streams in a row that were given up for their silence, with no line in between. */
  readonly silentRounds: number;
  readonly streamOpenedAtMs: number;
  /** Objects that the current stream brought as changes. */
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

/** What to do next; it replaces what was going on, so a stream that is being read ends. */
export type ListWatchCommand =
  | { readonly type: "OpenWatchList"; readonly timeoutSeconds: number }
  | { readonly type: "OpenWatch"; readonly resourceVersion: string; readonly timeoutSeconds: number }
  | { readonly type: "FetchPage"; readonly continueToken: string; readonly limit: number }
  | { readonly type: "Wait"; readonly delayMs: number };

/** What to do with the store, at once and in order. Collected objects are invisible until `Swap` makes them the store. */
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
  /** Undefined: go on with what is going on. */
  readonly command?: ListWatchCommand;
}

/** Time that only grows, and a number from 0 to below 1. */
export interface StepContext {
  readonly nowMs: number;
  readonly random: () => number;
}
