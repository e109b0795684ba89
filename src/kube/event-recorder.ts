// Emits core v1 Events, which `kubectl describe` shows. Events are fire-and-forget: they are queued (one place for each Event
// object, so repetitions cost nothing), sent one after another, and dropped if the queue is full or the server refuses them. A
// refused event that is worth a retry is sent again later, and the others go ahead.
// A lost event never causes the work to fail.
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import type { BackOff } from "../async/back-off.ts";
import { type Clock, withDeadline } from "../async/clock.ts";
import { LruMap } from "../async/lru-map.ts";
import type { ApiServer, ApiFault, ApiFaultCode } from "./api-server.ts";
import type { ResourceType } from "./resource-path.ts";
import { createObject, mergePatchObject } from "./verbs.ts";
import { microTime, secondsTime } from "./kube-object.ts";

export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** An event that users should know about. */
export interface EventNote {
  readonly object: EventSubject;
  readonly type: "Normal" | "Warning";
  /** One word in UpperCamelCase, from a documented list. */
  readonly reason: string;
  readonly message: string;
}

/** One Event object that exists or will be created. */
interface EventSeries {
  readonly note: EventNote;
  /** The name of the Event object. */
  readonly name: string;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  /** Whether the object has been created, as far as this process knows. */
  created: boolean;
  /** The number of attempts to write the pending occurrences. */
  attempts: number;
  /** The monotonic time from which it may be sent. */
  dueMs: number;
}

export const messageBytesMax = 1_024;
/** The requests about one object: a burst, then one per interval. */
const spamLimits = { burst: 25, refillMs: 300_000 };
const rememberedMax = 4_096;
/** The name of an Event consists of the name of the object and 17 more characters. */
const objectNameLengthMax = 236;
const sequenceEnd = 0x100000;
const ellipsis = "…";
const encoder = new TextEncoder();

/** Truncates a string to a number of UTF-8 bytes, as the API server counts, without splitting a character. */
export function cutText(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(bytesMax - Buffer.byteLength(ellipsis)));
  return `${text.slice(0, read)}${ellipsis}`;
}

/**
 * Why an event was not written: too many are queued, too many are about one object (they are still counted), the server
 * refused it or did not respond, or the recorder has stopped. Refusals in a terminating namespace are normal and not counted.
 */
export type EventDropReason = "QueueFull" | "Spam" | "Refused" | "Unavailable" | "Stopped";

export interface EventRecorderOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** At least 0 and less than 1. */
  readonly random: () => number;
  /** A label key that names this program, for example `example.org/controller`. */
  readonly controller: string;
  /** Identifies this process, for example the pod's name. */
  readonly instance: string;
  readonly onDropped?: (reason: EventDropReason) => void;
}

const events: ResourceType = { group: "", version: "v1", plural: "events", namespaced: true };
export const queueLengthMax = 1_000;
const wordBytesMax = 128;
const attemptsMax = 6;
const requestTimeoutMs = 10_000;
const retryBackOff: BackOff = { baseMs: 1_000, maxMs: 30_000 };
const worthRetrying: ReadonlySet<ApiFaultCode> = new Set([
  "TooManyRequests",
  "Unavailable",
  "TimedOut",
  "NoCredentials",
]);

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new LruMap<string, EventSeries>(rememberedMax);
  /** How many requests each object has left, and since when. */
  readonly #left = new LruMap<string, { readonly requests: number; readonly atMs: number }>(rememberedMax);
  /** Ensures that two processes, or two events in the same millisecond, get different names. */
  #sequence: number;
  readonly #pending = new Set<EventSeries>();
  readonly #stop = new AbortController();
  #added = new AbortController();
  #accepting = true;
  #sending: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#sequence = Math.floor(options.random() * sequenceEnd);
  }

  /** Queues the event and returns immediately. */
  record(note: EventNote): void {
    if (!this.#accepting) {
      this.#drop("Stopped");
      return;
    }
    const nowMs = this.#options.clock.nowMs();
    const series = this.#count(note, nowMs);
    if (this.#pending.has(series)) return;
    if (this.#pending.size >= queueLengthMax) this.#drop("QueueFull");
    else if (this.#allow(note.object, nowMs)) {
      this.#pending.add(Object.assign(series, { attempts: 0, dueMs: 0 }));
      // With a reason, because the default one is an exception for each event.
      this.#added.abort("added");
      this.#sending ??= this.#sendAll();
    } else this.#drop("Spam");
  }

  /** Accepts no more notes and writes the queued ones, for at most this long. */
  async stop(timeoutMs: number): Promise<void> {
    this.#accepting = false;
    await withDeadline({ clock: this.#options.clock, timeoutMs }, async () => this.#sending);
    this.#stop.abort();
    for (const _left of this.#pending) this.#drop("Stopped");
    this.#pending.clear();
  }

  /** Counts the occurrence on its Event object. */
  #count(note: EventNote, nowMs: number): EventSeries {
    const key = JSON.stringify([keyOf(note.object), note.type, note.reason, note.message]);
    const known = this.#series.get(key);
    if (known !== undefined) return Object.assign(known, { count: known.count + 1, lastMs: nowMs });
    this.#sequence = (this.#sequence + 1) % sequenceEnd;
    const unique = `${nowMs.toString(16)}${this.#sequence.toString(16).padStart(5, "0")}`;
    const name = `${note.object.name.slice(0, objectNameLengthMax)}.${unique}`;
    const times = { count: 1, firstMs: nowMs, lastMs: nowMs };
    const series = { note, name, ...times, created: false, attempts: 0, dueMs: 0 };
    this.#series.set(key, series);
    return series;
  }

  /** Whether a request about this object is allowed now. If so, it counts against the rate limit of the object. */
  #allow(object: EventSubject, nowMs: number): boolean {
    const key = keyOf(object);
    const { burst, refillMs } = spamLimits;
    const before = this.#left.get(key) ?? { requests: burst, atMs: nowMs };
    // A clock that was set back neither adds nor removes requests.
    const requests = Math.min(burst, before.requests + Math.max(nowMs - before.atMs, 0) / refillMs);
    const isAllowed = requests >= 1;
    this.#left.set(key, { requests: isAllowed ? requests - 1 : requests, atMs: nowMs });
    return isAllowed;
  }

  async #sendAll(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    while (this.#pending.size > 0 && !signal.aborted) {
      const nowMs = clock.monotonicMs();
      const due = this.#pending.values().find(({ dueMs }) => dueMs <= nowMs);
      if (due === undefined) {
        const dueMs = Math.min(...Array.from(this.#pending, (series) => series.dueMs));
        this.#added = new AbortController();
        await clock.sleep(dueMs - nowMs, AbortSignal.any([signal, this.#added.signal]));
      } else {
        this.#pending.delete(due);
        await this.#send(due);
      }
    }
    this.#sending = undefined;
  }

  async #send(series: EventSeries): Promise<void> {
    const { clock, random } = this.#options;
    const { signal } = this.#stop;
    const attempt = series.attempts + 1;
    const fault = await this.#write(series);
    if (fault === undefined || isGoingAway(fault)) return;
    if (signal.aborted) return this.#drop("Stopped");
    if (!worthRetrying.has(fault.code)) return this.#drop("Refused");
    if (attempt === attemptsMax) return this.#drop("Unavailable");
    const { status, retryAfterMs } = fault;
    const backOffMs = upwardBackOffDelayMs({ ...retryBackOff, attempt, random });
    const delayMs = Math.max(backOffMs, Math.min(retryAfterMs ?? 0, retryBackOff.maxMs));
    this.#pending.add(Object.assign(series, { attempts: attempt, dueMs: clock.monotonicMs() + delayMs }));
    // A server that asks for a delay or does not respond concerns all events. Any other refusal may concern only this one.
    if (status === undefined || retryAfterMs !== undefined) await clock.sleep(delayMs, signal);
  }

  /** Makes one attempt; undefined if the Event object is now up to date. */
  async #write(series: EventSeries): Promise<ApiFault | undefined> {
    const { api } = this.#options;
    const { namespace } = series.note.object;
    const options = { timeoutMs: requestTimeoutMs, signal: this.#stop.signal };
    if (series.created) {
      const change = { count: series.count, lastTimestamp: secondsTime(series.lastMs) };
      const patched = await mergePatchObject(api, events, { namespace, name: series.name }, change, options);
      if (patched.ok) return undefined;
      if (patched.fault.code !== "NotFound") return patched.fault;
      // It has expired on the server: create it again with the same count.
    }
    const body = this.#bodyOf(series);
    const created = await createObject(api, events, namespace, body, options);
    series.created = created.ok || created.fault.code === "AlreadyExists";
    return created.ok || series.created ? undefined : created.fault;
  }

  #bodyOf(series: EventSeries): object {
    const { controller, instance } = this.#options;
    const { note } = series;
    const { apiVersion, kind, namespace, name, uid } = note.object;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: series.name, namespace },
      involvedObject: { apiVersion, kind, name, uid, namespace },
      type: note.type,
      reason: cutText(note.reason, wordBytesMax),
      action: cutText(note.reason, wordBytesMax),
      message: cutText(note.message, messageBytesMax),
      count: series.count,
      eventTime: microTime(series.firstMs),
      firstTimestamp: secondsTime(series.firstMs),
      lastTimestamp: secondsTime(series.lastMs),
      reportingComponent: controller,
      reportingInstance: cutText(instance, wordBytesMax),
      source: { component: controller },
    };
  }

  #drop(reason: EventDropReason): void {
    this.#options.onDropped?.(reason);
  }
}

/** The namespace is being deleted or does not exist, so the event would be useless. */
function isGoingAway({ code, causes }: ApiFault): boolean {
  return code === "NotFound" || (code === "Forbidden" && causes.includes("NamespaceTerminating"));
}

function keyOf({ apiVersion, kind, namespace, name, uid }: EventSubject): string {
  return [apiVersion, kind, namespace, name, uid].join(" ");
}
