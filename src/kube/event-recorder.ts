// Emits core v1 Events, which `kubectl describe` shows. Events are fire-and-forget: they are queued (one place for each Event
// object, so repetitions cost nothing), sent one after another, and dropped if the queue is full or the server refuses them. A
// refused event that is worth a retry is sent again later, and the others go ahead.
// A lost event never causes the work to fail.
import { types } from "node:util";
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import type { BackOff } from "../async/back-off.ts";
import type { Clock } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import { localFault } from "./api-result.ts";
import type { ApiFault, ApiFaultCode, ApiResult } from "./api-result.ts";
import { cutText, EventAggregate } from "./event-aggregate.ts";
import type { EventNote, EventSeries } from "./event-aggregate.ts";
import { microTime, secondsTime } from "./micro-time.ts";

/** The two requests on Events. */
export interface EventApi {
  create(namespace: string, body: object, signal: AbortSignal): Promise<ApiResult<unknown>>;
  /** A merge patch. */
  patch(namespace: string, name: string, body: object, signal: AbortSignal): Promise<ApiResult<unknown>>;
}

/**
 * Why an event was not written: too many are queued, too many are about one object (they are still counted), the server
 * refused it or did not respond, or the recorder has stopped. Refusals in a terminating namespace are normal and not counted.
 */
export type EventDropReason = "QueueFull" | "Spam" | "Refused" | "Unavailable" | "Stopped";

export interface EventRecorderOptions {
  readonly api: EventApi;
  readonly clock: Clock;
  /** At least 0 and less than 1. */
  readonly random: () => number;
  /** A label key that names this program, for example `example.org/controller`. */
  readonly controller: string;
  /** Identifies this process, for example the pod's name. */
  readonly instance: string;
  readonly onDropped?: (reason: EventDropReason, message: string) => void;
}

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

interface PendingEvent {
  readonly series: EventSeries;
  /** The number of the next attempt, from 1. */
  readonly attempt: number;
  /** The monotonic time from which it may be sent. */
  readonly dueMs: number;
}

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #aggregate: EventAggregate;
  readonly #pending = new Map<string, PendingEvent>();
  readonly #stop = new AbortController();
  #added = new AbortController();
  #accepting = true;
  #sending: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#aggregate = new EventAggregate(options.random);
  }

  /** Queues the event and returns immediately. */
  record(note: EventNote): void {
    if (!this.#accepting) {
      this.#drop("Stopped");
      return;
    }
    const nowMs = this.#options.clock.nowMs();
    const series = this.#aggregate.add(note, nowMs);
    if (this.#pending.has(series.key)) return;
    if (this.#pending.size >= queueLengthMax) this.#drop("QueueFull");
    else if (this.#aggregate.allow(note.object, nowMs)) {
      this.#pending.set(series.key, { series, attempt: 1, dueMs: 0 });
      this.#added.abort();
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

  async #sendAll(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    while (this.#pending.size > 0 && !signal.aborted) {
      const next = [...this.#pending.values()].reduce((first, other) => (other.dueMs < first.dueMs ? other : first));
      const delayMs = next.dueMs - clock.monotonicMs();
      if (delayMs > 0) {
        this.#added = new AbortController();
        await clock.sleep(delayMs, AbortSignal.any([signal, this.#added.signal]));
      } else {
        this.#pending.delete(next.series.key);
        await this.#send(next);
      }
    }
    this.#sending = undefined;
  }

  async #send({ series, attempt }: PendingEvent): Promise<void> {
    const { clock, random } = this.#options;
    const { signal } = this.#stop;
    const fault = await this.#write(series);
    if (fault === undefined || isGoingAway(fault)) return;
    if (signal.aborted) return this.#drop("Stopped");
    if (!worthRetrying.has(fault.code)) return this.#drop("Refused", fault.message);
    if (attempt === attemptsMax) return this.#drop("Unavailable");
    const { status, retryAfterMs } = fault;
    const backOffMs = upwardBackOffDelayMs({ ...retryBackOff, attempt, random });
    const delayMs = Math.max(backOffMs, Math.min(retryAfterMs ?? 0, retryBackOff.maxMs));
    this.#pending.set(series.key, { series, attempt: attempt + 1, dueMs: clock.monotonicMs() + delayMs });
    // A server that asks for a delay or does not respond concerns all events. Any other refusal may concern only this one.
    if (status === undefined || retryAfterMs !== undefined) await clock.sleep(delayMs, signal);
  }

  /** Makes one attempt; undefined if the Event object is now up to date. */
  async #write(series: EventSeries): Promise<ApiFault | undefined> {
    const { api } = this.#options;
    const namespace = namespaceOf(series);
    if (series.created) {
      const change = { count: series.count, lastTimestamp: secondsTime(series.lastMs) };
      const patched = await this.#request((signal) => api.patch(namespace, series.name, change, signal));
      if (patched.ok) return undefined;
      if (patched.fault.code !== "NotFound") return patched.fault;
      // It has expired on the server: create it again with the same count.
    }
    const body = this.#bodyOf(series);
    const created = await this.#request((signal) => api.create(namespace, body, signal));
    series.created = created.ok || created.fault.code === "AlreadyExists";
    return created.ok || series.created ? undefined : created.fault;
  }

  async #request(send: (signal: AbortSignal) => Promise<ApiResult<unknown>>): Promise<ApiResult<unknown>> {
    const limits = { clock: this.#options.clock, timeoutMs: requestTimeoutMs, signal: this.#stop.signal };
    try {
      const sent = await withDeadline(limits, send);
      return sent.inTime ? sent.value : { ok: false, fault: localFault("TimedOut", "The API server did not respond") };
    } catch (error) {
      return {
        ok: false,
        fault: localFault("Unavailable", types.isNativeError(error) ? error.message : String(error)),
      };
    }
  }

  #bodyOf(series: EventSeries): object {
    const { controller, instance } = this.#options;
    const { note } = series;
    const { apiVersion, kind, namespace, name, uid } = note.object;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: series.name, namespace: namespaceOf(series) },
      involvedObject: { apiVersion, kind, name, uid, ...(namespace === "" ? {} : { namespace }) },
      type: note.type,
      reason: cutText(note.reason, wordBytesMax),
      action: cutText(note.action ?? note.reason, wordBytesMax),
      message: series.message,
      count: series.count,
      eventTime: microTime(series.firstMs),
      firstTimestamp: secondsTime(series.firstMs),
      lastTimestamp: secondsTime(series.lastMs),
      reportingComponent: controller,
      reportingInstance: cutText(instance, wordBytesMax),
      source: { component: controller },
    };
  }

  #drop(reason: EventDropReason, message = ""): void {
    this.#options.onDropped?.(reason, message);
  }
}

/** Events about cluster-scoped objects are in the default namespace. */
function namespaceOf({ note }: EventSeries): string {
  return note.object.namespace === "" ? "default" : note.object.namespace;
}

/** The namespace is being deleted or does not exist, so the event would be useless. */
function isGoingAway({ code, causes }: ApiFault): boolean {
  return code === "NotFound" || (code === "Forbidden" && causes.includes("NamespaceTerminating"));
}
