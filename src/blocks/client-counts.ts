// Counts the requests of clients over a sliding window, by the time of each request, in any order. A window is divided into twelve
// steps. Requests count as within one window only if they are, and always if they are within eleven steps. The memory is bounded:
// beyond `capacity`, the clients with the fewest requests are dropped, those whose last window has passed first. So a client that
// sends few requests while very many others are active may go unnoticed; no request is counted twice.
import type { SavedJudge } from "../logs/log-records.ts";

const stepsPerWindow = 12;
/** The maximum number of steps with requests per client; the oldest are dropped. */
const stepsKeptMax = 32;
/** The maximum number of different reasons per client; later ones are not counted. */
const reasonsKeptMax = 4;
/** The number of addresses kept for a network: the latest. */
export const sourcesKept = 3;

/** Of one client. */
export type Counted = SavedJudge["counts"][number][1];

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

export class ClientCounts {
  readonly #stepMs: number;
  readonly #capacity: number;
  readonly #clients: Map<string, Counted>;

  /** @param saved the result of `save`; it changes */
  constructor(windowMs: number, capacity: number, saved: SavedJudge["counts"]) {
    this.#stepMs = Math.max(1, Math.floor(windowMs / stepsPerWindow));
    this.#capacity = capacity;
    this.#clients = new Map(saved.slice(0, capacity));
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
    const firstStep = Math.floor(notBeforeMs / this.#stepMs);
    client.steps = client.steps.filter(([one]) => one >= firstStep);
    addStep(client.steps, step);
    addReason(client.reasons, reason);
    if (source !== undefined) addSource(client.sources, source, step);
    return bestWindow(client, step);
  }

  /** Drops clients whose last request is older. */
  forgetBefore(timeMs: number): void {
    for (const [key, { lastMs }] of this.#clients) if (lastMs < timeMs) this.#clients.delete(key);
  }

  save(): SavedJudge["counts"] {
    if (this.#clients.size > this.#capacity) this.#forgetFew();
    return [...this.#clients];
  }

  #forgetFew(): void {
    const newestMs = [...this.#clients.values()].reduce((latest, { lastMs }) => Math.max(latest, lastMs), 0);
    const recentMs = newestMs - this.#stepMs * stepsPerWindow;
    const ranked = [...this.#clients].map(([key, client]) => {
      const isRecent = client.lastMs >= recentMs;
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
  return steps.reduce((sum, [, requests]) => sum + requests, 0);
}

function addStep(steps: Counted["steps"], step: number): void {
  const place = steps.findLastIndex(([one]) => one <= step);
  const known = steps[place];
  if (known?.[0] === step) known[1] += 1;
  else steps.splice(place + 1, 0, [step, 1]);
  if (steps.length > stepsKeptMax) steps.shift();
}

/** Counts a request with this reason. */
export function addReason(reasons: Counted["reasons"], reason: string): void {
  const known = reasons.find(([label]) => label === reason);
  if (known !== undefined) known[1] += 1;
  else if (reasons.length < reasonsKeptMax) reasons.push([reason, 1]);
}

/** A source that already exists moves to the end. */
function addSource(sources: Counted["sources"], source: string, step: number): void {
  const place = sources.findIndex(([one]) => one === source);
  const last = Math.max(step, sources[place]?.[1] ?? step);
  if (place >= 0 || sources.length >= sourcesKept) sources.splice(Math.max(0, place), 1);
  sources.push([source, last]);
}

/** The window with the most requests of all windows that include the step. */
function bestWindow({ steps, sources }: Counted, step: number): WindowCount {
  let best = 0;
  let bestFirst = step;
  for (const [first] of steps) {
    if (first > step || first <= step - stepsPerWindow) continue;
    const requests = requestsOf({ steps: steps.filter(([one]) => one >= first && one < first + stepsPerWindow) });
    if (requests > best) {
      best = requests;
      bestFirst = first;
    }
  }
  const recent = sources.filter(([, last]) => last >= bestFirst);
  return { requests: best, sources: sources.length === 0 ? 1 : recent.length };
}
