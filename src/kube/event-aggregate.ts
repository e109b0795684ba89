// Which Event object a note belongs to, as client-go decides it: the same note again counts up one object, many similar
// ones end in a combined object, and an object that makes too much noise is silenced. No I/O; time is an argument.
import { LruMap } from "../async/lru-map.ts";
import { fullBucket, takeToken } from "../async/token-bucket.ts";
import type { TokenBucket, TokenBucketLimits } from "../async/token-bucket.ts";

export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for an object of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Something that a person should know about an object. */
export interface EventNote {
  readonly object: EventSubject;
  readonly type: "Normal" | "Warning";
  /** One word in upper camel case, from a published list. */
  readonly reason: string;
  readonly message: string;
  /** What was being done; the reason by default. */
  readonly action?: string;
}

/** One Event object, existing or to be made. Mutable only by the aggregate and the recorder. */
export interface EventSeries {
  readonly key: string;
  readonly note: EventNote;
  /** Of the Event object. */
  readonly name: string;
  message: string;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  /** Whether the object has been created, as far as is known. */
  created: boolean;
}

export const messageBytesMax = 1_024;
/** More different messages of one reason than this, each within the interval of the one before, are combined. */
export const similarMax = 10;
export const similarIntervalMs = 600_000;
export const spamLimits: TokenBucketLimits = { burst: 25, refillMs: 300_000 };
export const rememberedMax = 4_096;
const combinedPrefix = "(combined from similar events): ";
/** An Event's name is the object's name and 17 characters. */
const objectNameLengthMax = 236;
const sequenceEnd = 0x100000;
const ellipsis = "…";
const encoder = new TextEncoder();

interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

/** Shortens a text to so many bytes of UTF-8, which is how the API server counts, without cutting a character in two. */
export function cutText(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(bytesMax - Buffer.byteLength(ellipsis)));
  return `${text.slice(0, read)}${ellipsis}`;
}

export class EventAggregate {
  /** Two processes, and two events of one millisecond, get different names. */
  #sequence: number;
  readonly #series = new LruMap<string, EventSeries>(rememberedMax);
  readonly #similar = new LruMap<string, Similar>(rememberedMax);
  readonly #buckets = new LruMap<string, TokenBucket>(rememberedMax);

  /** @param random At least 0, less than 1: for the names of the Event objects. */
  constructor(random: () => number) {
    this.#sequence = Math.floor(random() * sequenceEnd);
  }

  /** Counts the note on the Event object that it belongs to. */
  add(note: EventNote, nowMs: number): EventSeries {
    const { object, type, reason, action } = note;
    const group = JSON.stringify([Object.values(subjectOf(object)), type, reason, action ?? reason]);
    const combined = this.#isCombined(group, note.message, nowMs);
    const key = combined ? group : `${group} ${note.message}`;
    const message = cutText(combined ? `${combinedPrefix}${note.message}` : note.message, messageBytesMax);
    const known = this.#series.get(key);
    if (known !== undefined) {
      Object.assign(known, { message, count: known.count + 1, lastMs: nowMs });
      return known;
    }
    const name = this.#nameFor(object, nowMs);
    const series = { key, note, name, message, count: 1, firstMs: nowMs, lastMs: nowMs, created: false };
    this.#series.set(key, series);
    return series;
  }

  /** Whether a request about this object may be made now; takes it off the object's allowance. */
  allow(object: EventSubject, nowMs: number): boolean {
    const key = JSON.stringify(Object.values(subjectOf(object)));
    const { taken, bucket } = takeToken(this.#buckets.get(key) ?? fullBucket(spamLimits, nowMs), spamLimits, nowMs);
    this.#buckets.set(key, bucket);
    return taken;
  }

  #isCombined(group: string, message: string, nowMs: number): boolean {
    const known = this.#similar.get(group);
    const recent = known !== undefined && nowMs - known.lastMs <= similarIntervalMs;
    const similar = recent ? known : { messages: new Set<string>(), lastMs: nowMs };
    similar.lastMs = nowMs;
    this.#similar.set(group, similar);
    if (similar.messages.has(message)) return false;
    if (similar.messages.size >= similarMax) return true;
    similar.messages.add(message);
    return false;
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
