// The history of an instance in a record store. It is small, and new events displace the oldest ones. In a conflict, the events are
// added to the other writer's version. A damaged history is replaced: it is only for people. It is readable text, one event per line:
//
//   2026-11-22T09:30:00Z Added blocklist 192.0.2.7,192.0.2.8 WafIpRule:shop/scanners - the%20note
//
// Invalid lines are skipped.
import { LruMap } from "../async/lru-map.ts";
import { decodeWord, encodeWord } from "../model/entry-owners.ts";
import { parseOwners, unknownOwners } from "../model/entry-owners.ts";
import type { HistoryEvent, HistoryKind, HistoryLimits, HistoryTarget } from "../model/history.ts";
import { historyKinds, keepNewest } from "../model/history.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { shortened } from "../model/sentence.ts";
import type { RecordKey, RecordStore, SavedRecord } from "./record-store.ts";
import { dayMs } from "../model/time-text.ts";

const attemptsMax = 2;
/** The number of instances whose text is cached, so that a batch needs only one request. */
const knownMax = 20;

/** About 13,000 entries. Every batch writes the whole text. */
export const historyLimits: HistoryLimits = { eventsMax: 5_000, ageMsMax: 90 * dayMs, bytesMax: 256 * 1024 };

export type ReadHistory =
  | { readonly ok: true; readonly events: readonly HistoryEvent[] }
  | { readonly ok: false; readonly problem: string; readonly isForbidden: boolean };

interface Stored {
  readonly lines: readonly string[];
  readonly revision: string;
}

/** Computes the new lines from the stored ones, oldest first. */
type Change = (lines: readonly string[]) => readonly string[];

export class HistoryRecords {
  readonly #store: RecordStore;
  readonly #nowMs: () => number;
  readonly #known = new LruMap<string, Stored>(knownMax);

  constructor(store: RecordStore, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /** Oldest first; empty if nothing is recorded. */
  async read(instance: ObjectName): Promise<ReadHistory> {
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state === "Unreachable") return { ok: false, ...stored };
    if (stored.state === "Damaged") return { ok: false, problem: stored.problem, isForbidden: false };
    const events = stored.state === "Absent" ? [] : decodeEvents(stored.text);
    return { ok: true, events: events.filter(({ atMs }) => this.#nowMs() - atMs <= historyLimits.ageMsMax) };
  }

  /** Undefined on success, or if the events need not be stored; otherwise the reason for the failure. Never rejects. */
  async append(instance: ObjectName, events: readonly HistoryEvent[]): Promise<string | undefined> {
    const added = events.map(encodeEvent);
    const stored = await this.#change(instance, (lines) => [...lines, ...added]);
    return stored.state === "Saved" || stored.state === "NotAllowed" ? undefined : stored.problem;
  }

  /** Prepends the history of `former` to that of `instance`, and removes its record. Returns the same as `append`. */
  async takeOver(instance: ObjectName, former: ObjectName): Promise<string | undefined> {
    const left = await this.#store.load(keyOf(former));
    if (left.state === "Unreachable") return left.problem;
    if (left.state !== "Loaded") return undefined;
    const stored = await this.#change(instance, (lines) => mergeLines(linesOf(left.text), lines));
    if (stored.state === "NotAllowed") return undefined;
    if (stored.state !== "Saved") return stored.problem;
    this.#known.delete(nameKey(former));
    return await this.#store.remove(keyOf(former));
  }

  async #change(instance: ObjectName, change: Change, attempts = attemptsMax): Promise<SavedRecord> {
    const before = this.#known.get(nameKey(instance)) ?? (await this.#load(instance));
    if ("problem" in before) return { state: "Failed", problem: before.problem };
    const lines = keepNewest(change(before.lines), historyLimits, this.#nowMs(), timeOfEvent);
    const text = lines.map((line) => `${line}\n`).join("");
    const saved = await this.#store.save(keyOf(instance), text, before.revision);
    this.#known.delete(nameKey(instance));
    if (saved.state === "Saved") this.#known.set(nameKey(instance), { lines, revision: saved.revision });
    if (saved.state === "Conflict" && attempts > 1) return await this.#change(instance, change, attempts - 1);
    return saved;
  }

  async #load(instance: ObjectName): Promise<Stored | { readonly problem: string }> {
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state === "Unreachable") return stored;
    return { lines: stored.state === "Loaded" ? linesOf(stored.text) : [], revision: stored.revision };
  }
}

function keyOf({ namespace, name }: ObjectName): RecordKey {
  return { type: "History", namespace, name };
}

/** The placeholder for missing owners or notes. */
const none = "-";
const noteLengthMax = 200;
const targets: readonly HistoryTarget[] = ["blocklist", "allowlist", "origins"];

export function encodeEvent({ atMs, kind, target, values, owners, note }: HistoryEvent): string {
  const time = new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z");
  const words = values.map((value) => encodeWord(value).replaceAll(",", "%2C")).join(",");
  const by = owners === unknownOwners ? none : owners.replaceAll(",", "%2C").replaceAll(" ", ",");
  return `${time} ${kind} ${target} ${words} ${by} ${note === "" ? none : encodeWord(shortened(note, noteLengthMax))}`;
}

/** Undefined if it is not an event. */
export function decodeEvent(line: string): HistoryEvent | undefined {
  const [time, kind, target, words = "", by = none, noteWord = none, ...more] = line.split(" ");
  const atMs = timeOfEvent(`${time ?? ""} `);
  const values = words.split(",").map(decodeWord);
  const owners = by === none ? unknownOwners : parseOwners(by.split(","));
  const note = noteWord === none ? "" : decodeWord(noteWord);
  if (atMs === undefined || more.length > 0 || owners === undefined || typeof note !== "string") return undefined;
  if (!isKind(kind) || !isTarget(target) || !values.every((value) => typeof value === "string")) return undefined;
  return { atMs, kind, target, values, owners, note };
}

/** Parses only the time. */
export function timeOfEvent(line: string): number | undefined {
  const atMs = Date.parse(line.slice(0, line.indexOf(" ")));
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** Merges two histories, ordered by time; a line that is in both counts once. Invalid lines are dropped. */
export function mergeLines(former: readonly string[], own: readonly string[]): string[] {
  const times = new Map([...former, ...own].map((line) => [line, timeOfEvent(line)]));
  const timed = [...times].flatMap(([line, atMs]) => (atMs === undefined ? [] : [{ line, atMs }]));
  return timed.sort((a, b) => a.atMs - b.atMs).map(({ line }) => line);
}

export function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

export function decodeEvents(text: string): HistoryEvent[] {
  return text.split("\n").flatMap((line) => decodeEvent(line) ?? []);
}

function isKind(word: string | undefined): word is HistoryKind {
  return historyKinds.some((kind) => kind === word);
}

function isTarget(word: string | undefined): word is HistoryTarget {
  return targets.some((target) => target === word);
}
