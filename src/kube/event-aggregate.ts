// Determines the Event object for each occurrence: repeated occurrences increase the count of one Event, and an object with too
// many Events is rate-limited. No I/O; time is an argument.
import { LruMap } from "../async/lru-map.ts";
import { fullBucket, takeToken } from "../async/token-bucket.ts";
import type { TokenBucket, TokenBucketLimits } from "../async/token-bucket.ts";

export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for a cluster-scoped object. */
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
  /** The action taken; by default, the reason. */
  readonly action?: string;
}

/** One Event object that exists or will be created. Only the aggregate and the recorder change it. */
export interface EventSeries {
  readonly key: string;
  readonly note: EventNote;
  /** The name of the Event object. */
  readonly name: string;
  readonly message: string;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  /** Whether the object has been created, as far as this process knows. */
  created: boolean;
}

export const messageBytesMax = 1_024;
export const spamLimits: TokenBucketLimits = { burst: 25, refillMs: 300_000 };
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

export class EventAggregate {
  /** Ensures that two processes, or two events in the same millisecond, get different names. */
  #sequence: number;
  readonly #series = new LruMap<string, EventSeries>(rememberedMax);
  readonly #buckets = new LruMap<string, TokenBucket>(rememberedMax);

  /** @param random At least 0 and less than 1: for the names of the Event objects. */
  constructor(random: () => number) {
    this.#sequence = Math.floor(random() * sequenceEnd);
  }

  /** Counts the occurrence on its Event object. */
  add(note: EventNote, nowMs: number): EventSeries {
    const { object, type, reason, action } = note;
    const key = JSON.stringify([Object.values(subjectOf(object)), type, reason, action ?? reason, note.message]);
    const known = this.#series.get(key);
    if (known !== undefined) {
      Object.assign(known, { count: known.count + 1, lastMs: nowMs });
      return known;
    }
    const name = this.#nameFor(object, nowMs);
    const message = cutText(note.message, messageBytesMax);
    const series = { key, note, name, message, count: 1, firstMs: nowMs, lastMs: nowMs, created: false };
    this.#series.set(key, series);
    return series;
  }

  /** Whether a request about this object is allowed now. If so, it counts against the rate limit of the object. */
  allow(object: EventSubject, nowMs: number): boolean {
    const key = JSON.stringify(Object.values(subjectOf(object)));
    const { taken, bucket } = takeToken(this.#buckets.get(key) ?? fullBucket(spamLimits, nowMs), spamLimits, nowMs);
    this.#buckets.set(key, bucket);
    return taken;
  }

  #nameFor(object: EventSubject, nowMs: number): string {
    this.#sequence = (this.#sequence + 1) % sequenceEnd;
    const unique = `${nowMs.toString(16)}${this.#sequence.toString(16).padStart(5, "0")}`;
    return `${object.name.slice(0, objectNameLengthMax)}.${unique}`;
  }
}

function subjectOf({ apiVersion, kind, namespace, name, uid }: EventSubject): EventSubject {
  return { apiVersion, kind, namespace, name, uid };
}
