// Counts the requests of clients over a sliding window, by the time of each request, in any order. A window is divided into twelve
// steps. Requests count as within one window only if they are, and always if they are within eleven steps. The memory is bounded:
// beyond `capacity`, the clients with the fewest requests are dropped, those whose last window has passed first. So a client that
// sends few requests while very many others are active may go unnoticed; no request is counted twice.
import type { SavedJudge } from "../logs/log-records.ts";

export const stepsPerWindow = 12;
/** The maximum number of steps with requests per client; the oldest are dropped. */
const stepsKeptMax = 32;
/** The maximum number of different reasons per client; later ones are not counted. */
const reasonsKeptMax = 4;
/** The number of addresses kept for a network: the latest. */
export const sourcesKept = 3;

export interface Counted {
  /** Alternating step numbers and their requests: ascending, at most `stepsKeptMax` pairs. */
  readonly steps: number[];
  /** Alternating labels of reasons and their requests. */
  readonly reasons: (string | number)[];
  /** For a network: alternating addresses and the step of their last request. */
  readonly sources: (string | number)[];
  firstMs: number;
  lastMs: number;
}

export interface CountedRequest {
  readonly key: string;
  readonly atMs: number;
  readonly reason: string;
  /** The address, if the key is a network. */
  readonly source?: string;
  /** Earlier requests of the client do not count. */
  readonly notBeforeMs: number;
}

/** The client's requests within the window around its last counted request. */
export interface WindowCount {
  readonly requests: number;
  /** The number of different addresses, at most `sourcesKept`; 1 if the key is an address. */
  readonly sources: number;
}

/** A saved client: key, first and last time, steps, reasons, sources. */
type SavedCount = SavedJudge["counts"][number];

export class ClientCounts {
  readonly #stepMs: number;
  readonly #capacity: number;
  readonly #clients = new Map<string, Counted>();
  #newestMs = 0;

  constructor(windowMs: number, capacity: number) {
    this.#stepMs = Math.max(1, Math.floor(windowMs / stepsPerWindow));
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#clients.size;
  }

  get(key: string): Counted | undefined {
    return this.#clients.get(key);
  }

  delete(key: string): void {
    this.#clients.delete(key);
  }

  add({ key, atMs, reason, source, notBeforeMs }: CountedRequest): WindowCount {
    const step = Math.floor(atMs / this.#stepMs);
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = { steps: [], reasons: [], sources: [], firstMs: atMs, lastMs: atMs };
      this.#clients.set(key, client);
      if (this.#clients.size > this.#capacity * 1.25) this.#forgetFew();
    }
    client.firstMs = Math.min(client.firstMs, atMs);
    client.lastMs = Math.max(client.lastMs, atMs);
    this.#newestMs = Math.max(this.#newestMs, atMs);
    const { steps } = client;
    while (steps.length > 0 && (steps[0] ?? 0) < Math.floor(notBeforeMs / this.#stepMs)) steps.splice(0, 2);
    addStep(steps, step);
    addReason(client.reasons, reason);
    if (source !== undefined) addSource(client.sources, source, step);
    return bestWindow(client, step);
  }

  /** Drops clients whose last request is older. */
  forgetBefore(timeMs: number): void {
    for (const [key, { lastMs }] of this.#clients) if (lastMs < timeMs) this.#clients.delete(key);
  }

  save(): SavedCount[] {
    if (this.#clients.size > this.#capacity) this.#forgetFew();
    return [...this.#clients].map(([key, client]) => {
      const { firstMs, lastMs, steps, reasons, sources } = client;
      return [key, firstMs, lastMs, [...steps], [...reasons], [...sources]];
    });
  }

  restore(saved: readonly SavedCount[]): void {
    for (const [key, firstMs, lastMs, steps, reasons, sources] of saved.slice(0, this.#capacity)) {
      this.#clients.set(key, { firstMs, lastMs, steps: [...steps], reasons: [...reasons], sources: [...sources] });
      this.#newestMs = Math.max(this.#newestMs, lastMs);
    }
  }

  #forgetFew(): void {
    const windowMs = this.#stepMs * stepsPerWindow;
    const ranked = [...this.#clients].map(([key, client]) => {
      const isRecent = client.lastMs >= this.#newestMs - windowMs;
      return { key, isRecent, requests: requestsOf(client), lastMs: client.lastMs };
    });
    ranked.sort(
      (a, b) =>
        Number(b.isRecent) - Number(a.isRecent) ||
        b.requests - a.requests ||
        b.lastMs - a.lastMs ||
        (a.key < b.key ? -1 : 1),
    );
    for (const { key } of ranked.slice(this.#capacity)) this.#clients.delete(key);
  }
}

/** All counted requests, including those of different windows. */
export function requestsOf({ steps }: Pick<Counted, "steps">): number {
  let requests = 0;
  for (let place = 1; place < steps.length; place += 2) requests += steps[place] ?? 0;
  return requests;
}

function addStep(steps: number[], step: number): void {
  let place = steps.length;
  while (place > 0 && (steps[place - 2] ?? 0) > step) place -= 2;
  if (place > 0 && steps[place - 2] === step) {
    steps[place - 1] = (steps[place - 1] ?? 0) + 1;
    return;
  }
  steps.splice(place, 0, step, 1);
  if (steps.length > stepsKeptMax * 2) steps.splice(0, 2);
}

function addReason(reasons: (string | number)[], reason: string): void {
  const place = reasons.indexOf(reason);
  if (place >= 0) reasons[place + 1] = Number(reasons[place + 1]) + 1;
  else if (reasons.length < reasonsKeptMax * 2) reasons.push(reason, 1);
}

/** A source that already exists moves to the end. */
function addSource(sources: (string | number)[], source: string, step: number): void {
  const place = sources.indexOf(source);
  const last = place >= 0 ? Math.max(step, Number(sources[place + 1])) : step;
  if (place >= 0) sources.splice(place, 2);
  else if (sources.length >= sourcesKept * 2) sources.splice(0, 2);
  sources.push(source, last);
}

/** The window with the most requests of all windows that include the step. */
function bestWindow({ steps, sources }: Counted, step: number): WindowCount {
  let best = 0;
  let bestFirst = step;
  for (let first = 0; first < steps.length; first += 2) {
    const from = steps[first] ?? 0;
    if (from > step) break;
    if (from <= step - stepsPerWindow) continue;
    let requests = 0;
    for (let place = first; place < steps.length && (steps[place] ?? 0) < from + stepsPerWindow; place += 2) {
      requests += steps[place + 1] ?? 0;
    }
    if (requests > best) {
      best = requests;
      bestFirst = from;
    }
  }
  return { requests: best, sources: sources.length === 0 ? 1 : sourcesSince(sources, bestFirst) };
}

function sourcesSince(sources: readonly (string | number)[], step: number): number {
  let count = 0;
  for (let place = 1; place < sources.length; place += 2) if (Number(sources[place]) >= step) count += 1;
  return count;
}
