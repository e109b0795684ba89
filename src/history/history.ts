// Keeps the history of each instance in its record. Events are buffered and stored in batches, so that no call of a WAF waits for
// them, and ten thousand writes need only a few requests. A process that is killed loses the last batch; a graceful stop loses nothing.
//
// A record has one event per line, as JSON, and new events displace the oldest ones. In a conflict, the events are added to the other
// writer's version. A damaged record is replaced, and invalid lines are dropped: the history is only for people.
import * as z from "zod";
import type { CancelTimer, Clock } from "../async/clock.ts";
import type { EntryOwners } from "../model/rule-id.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { shortened, dayMs, formatTime } from "../model/texts.ts";
import type { RecordKey, RecordStore } from "../records/record-store.ts";
import type { Happening, HistoryPort, Known } from "../run/ports.ts";
import { eventsOf, type HistoryEvent, historyKinds, historyTargets } from "./events.ts";

/** The limits of a record: about 13,000 entries. Every batch writes the whole text. */
export const historyLimits = { eventsMax: 5_000, ageMsMax: 90 * dayMs, bytesMax: 256 * 1024 };
/** Events with more values are split, so that dropping the oldest event never drops much. */
export const valuesOfEventMax = 500;
const noteLengthMax = 200;
/** The delay before the first events after an idle period are stored. */
const firstDelayMs = 1_000;
/** The minimum time between two batches. */
const batchIntervalMs = 10_000;
/** The maximum number of buffered events of an instance while the store does not respond; the oldest are dropped first. */
const waitingMax = 20_000;
/** How often a batch is saved if another writer saves at the same time. */
const attemptsMax = 2;

export type ReadHistory =
  | { readonly ok: true; readonly events: readonly HistoryEvent[] }
  | { readonly ok: false; readonly problem: string; readonly isForbidden: boolean };

/** What is not stored yet. */
interface Waiting {
  readonly instance: ObjectName;
  events: HistoryEvent[];
  /** The instance that this one continues: its history becomes the beginning, and its record is removed. */
  former: ObjectName | undefined;
}

export class History implements HistoryPort {
  readonly #store: RecordStore;
  readonly #clock: Clock;
  readonly #onProblem: (problem: string) => void;
  #waiting = new Map<string, Waiting>();
  #cancel: CancelTimer | undefined;
  #lastBatchMs = Number.NEGATIVE_INFINITY;
  #storing: Promise<void> = Promise.resolve();

  constructor(store: RecordStore, clock: Clock, onProblem: (problem: string) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onProblem = onProblem;
  }

  happened(happening: Happening, known: Known, atMs: number): void {
    const { namespace, name } = known.gathered.instance.meta;
    this.add({ namespace, name }, eventsOf(happening, known, atMs));
  }

  add(instance: ObjectName, events: readonly HistoryEvent[]): void {
    const waiting = this.#waitingOf(instance);
    // A thousand instances buffer fifty additions each, most of which belong to few rules.
    waiting.events.push(...joinEvents([...waiting.events.splice(-1), ...events]));
    if (waiting.events.length > 2 * waitingMax) waiting.events = waiting.events.slice(-waitingMax);
    const delayMs = Math.max(firstDelayMs, this.#lastBatchMs + batchIntervalMs - this.#clock.monotonicMs());
    this.#cancel ??= this.#clock.schedule(delayMs, () => void this.flush());
  }

  /** Flushes immediately: with `deletionPolicy: Delete`, the history of the former instance is deleted together with that instance. */
  continues({ namespace, name }: ObjectName, former: ObjectName): void {
    this.#waitingOf({ namespace, name }).former = former;
    void this.flush();
  }

  /** Stores all buffered events, and resolves afterwards. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#storing = this.#storing.then(async () => await this.#storeAll());
    await this.#storing;
  }

  async #storeAll(): Promise<void> {
    const batch = [...this.#waiting.values()];
    this.#waiting = new Map();
    this.#lastBatchMs = this.#clock.monotonicMs();
    // The events of a former instance are stored before its history is taken over.
    for (const one of batch.toSorted((a, b) => Number(a.former !== undefined) - Number(b.former !== undefined))) {
      const problem = await this.#append(one);
      if (problem === undefined) continue;
      this.#onProblem(problem);
      // It is retried with the next events.
      const waiting = this.#waitingOf(one.instance);
      waiting.events = [...one.events, ...waiting.events].slice(-waitingMax);
      waiting.former ??= one.former;
    }
  }

  #waitingOf(instance: ObjectName): Waiting {
    const waiting = this.#waiting.get(nameKey(instance)) ?? { instance, events: [], former: undefined };
    this.#waiting.set(nameKey(instance), waiting);
    return waiting;
  }

  /** Undefined on success, or if the events need not be stored; otherwise the reason for the failure. */
  async #append({ instance, events, former }: Waiting, attempts = attemptsMax): Promise<string | undefined> {
    const left = former && (await this.#store.load(keyOf(former)));
    if (left?.state === "Unreachable") return left.problem;
    const formerLines = left?.state === "Loaded" ? left.text.split("\n") : [];
    if (events.length + formerLines.length === 0) return undefined;
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state === "Unreachable") return stored.problem;
    const own = stored.state === "Loaded" ? stored.text.split("\n") : [];
    // A process that was killed may have copied a part of the former history.
    const known = formerLines.length === 0 ? own : [...new Set([...formerLines, ...own])].toSorted();
    const lines = [...known, ...joinEvents(events.slice(-waitingMax)).map(encodeEvent)];
    const text = newestOf(lines, this.#clock.nowMs()).map((line) => `${line}\n`);
    const saved = await this.#store.save(keyOf(instance), text.join(""), stored.revision);
    if (saved.state === "NotAllowed") return undefined;
    if (saved.state === "Conflict" && attempts > 1) {
      return await this.#append({ instance, events, former }, attempts - 1);
    }
    if (saved.state !== "Saved") return saved.problem;
    return former === undefined || left?.state !== "Loaded" ? undefined : await this.#store.remove(keyOf(former));
  }
}

/** Oldest first; empty if nothing is recorded. */
export async function readHistory(store: RecordStore, instance: ObjectName, nowMs: number): Promise<ReadHistory> {
  const stored = await store.load(keyOf(instance));
  if (stored.state === "Unreachable") return { ok: false, ...stored };
  if (stored.state === "Damaged") return { ok: false, problem: stored.problem, isForbidden: false };
  const lines = stored.state === "Absent" ? [] : stored.text.split("\n");
  return { ok: true, events: newestOf(lines, nowMs).flatMap((line) => decodeEvent(line) ?? []) };
}

function keyOf({ namespace, name }: ObjectName): RecordKey {
  return { type: "History", namespace, name };
}

/** Merges events of the same second and owners, and splits events that are too long. Ordered by time. */
export function joinEvents(events: readonly HistoryEvent[]): HistoryEvent[] {
  const groups = Map.groupBy(events, ({ atMs, kind, target, owners, note }) =>
    JSON.stringify([Math.floor(atMs / 1000), kind, target, owners, note]),
  );
  return [...groups.values()].flatMap((group) => {
    const values = group.flatMap((event) => event.values);
    return group.slice(0, 1).flatMap((first) =>
      Array.from({ length: Math.ceil(values.length / valuesOfEventMax) }, (_, at) => ({
        ...first,
        values: values.slice(at * valuesOfEventMax, (at + 1) * valuesOfEventMax),
      })),
    );
  });
}

/** The newest lines that fit. Invalid ones are dropped. */
export function newestOf(lines: readonly string[], nowMs: number, limits = historyLimits): string[] {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines.toReversed()) {
    const atMs = Date.parse(line.slice(2, line.indexOf(",") - 1));
    if (Number.isNaN(atMs)) continue;
    bytes += Buffer.byteLength(line) + 1;
    if (kept.length === limits.eventsMax || bytes > limits.bytesMax || nowMs - atMs > limits.ageMsMax) break;
    kept.push(line);
  }
  return kept.reverse();
}

const lineSchema = z.tuple([
  z.iso.datetime(),
  z.enum(historyKinds),
  z.enum(historyTargets),
  z.array(z.string()).min(1),
  z.string(),
  z.string(),
]);

/** The time comes first and has a fixed width, so lines are sorted by time. */
export function encodeEvent({ atMs, kind, target, values, owners, note }: HistoryEvent): string {
  const time = formatTime(atMs);
  return JSON.stringify([time, kind, target, values, owners, shortened(note, noteLengthMax)]);
}

/** Undefined if it is not an event. */
export function decodeEvent(line: string): HistoryEvent | undefined {
  try {
    const [time, kind, target, values, owners, note] = lineSchema.parse(JSON.parse(line));
    return { atMs: Date.parse(time), kind, target, values, owners: owners as EntryOwners, note };
  } catch {
    return undefined;
  }
}
