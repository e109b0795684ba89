// One WAF, which belongs to one API key: its state and its counters, and what tests and the control port can see and change of it
// without its API.
import { isIP } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FaultKind } from "./fault-rule.ts";
import { type ListChange, SimulatedList } from "./simulated-list.ts";
import { type LogSettings, SimulatedLogs } from "./simulated-logs.ts";
import type { SpellingMode } from "./network.ts";

/** One API key and the WAF that it belongs to. */
export interface SimulatedKey {
  readonly key: string;
  /** By default `waf-1.example.test`, and so on. */
  readonly domain?: string | undefined;
  /** By default `origin.<domain>`. */
  readonly primaryOrigin?: string | undefined;
  /** False for an account whose log requests fail with 404. */
  readonly hasWaf?: boolean | undefined;
}

export const listNames = ["blocklist", "allowlist"] as const;
export type ListName = (typeof listNames)[number];

/** Requests are counted when they arrive, everything else when it has happened. */
export interface WafCounters {
  requests: number;
  /** By method and path, for example `POST /api/blocklist_ip` and `POST /clear`, without the key. */
  byEndpoint: Record<string, number>;
  /** Writes that changed something. */
  changes: number;
  cacheClears: number;
  /** Responses with a status of at least 400 that the contract requires. Faults do not count. */
  refusals: number;
  faults: number;
  /** Deletions of a listed network, but not in the spelling of the list. */
  deletionsInOtherSpelling: number;
}

/** A request that arrived, without its key. */
export interface RequestRecord {
  readonly sequence: number;
  readonly timeMs: number;
  readonly method: string;
  /** `/api/…` without a trailing slash, `/clear` without the key, or `(unknown path)`. */
  readonly path: string;
  /** Undefined if the key was invalid or missing. */
  readonly domain: string | undefined;
  /** The known parameters except `api_key`. */
  readonly parameters: Readonly<Record<string, string>>;
  overlapping: boolean;
  fault: FaultKind | undefined;
  /** The status of the response; undefined if there was none, or not yet. */
  status: number | undefined;
}

/** What the WAFs of a simulator share. */
interface Surroundings {
  readonly settings: { readonly spelling: SpellingMode };
  requests(): readonly RequestRecord[];
}

export class SimulatedWaf {
  readonly hasWaf: boolean;
  readonly originHosts: SimulatedOrigins;
  readonly lists: Readonly<Record<ListName, SimulatedList>> = {
    blocklist: new SimulatedList(),
    allowlist: new SimulatedList(),
  };
  readonly logs: SimulatedLogs;
  readonly #surroundings: Surroundings;
  /** The domain in the responses. */
  domain: string;
  readonly counters: WafCounters = {
    requests: 0,
    byEndpoint: {},
    changes: 0,
    cacheClears: 0,
    refusals: 0,
    faults: 0,
    deletionsInOtherSpelling: 0,
  };
  readonly flights = new InFlight();

  constructor(options: SimulatedKey, domain: string, surroundings: Surroundings, logSettings: LogSettings) {
    this.domain = domain;
    this.hasWaf = options.hasWaf ?? true;
    this.originHosts = new SimulatedOrigins(options.primaryOrigin ?? `origin.${domain}`);
    this.logs = new SimulatedLogs(logSettings);
    this.#surroundings = surroundings;
  }

  /** The lists as a read of the API would show them now. */
  get blocklist(): string[] {
    return this.lists.blocklist.shown(this.#surroundings.settings.spelling);
  }

  get allowlist(): string[] {
    return this.lists.allowlist.shown(this.#surroundings.settings.spelling);
  }

  /** All origins except the primary. */
  get origins(): { host: string; type: OriginType }[] {
    return this.originHosts.others();
  }

  /** The recorded requests of this WAF, oldest first. */
  get requests(): RequestRecord[] {
    return this.#surroundings.requests().filter(({ domain }) => domain === this.domain);
  }

  /** The number of requests to an endpoint such as `POST /api/blocklist_ip`. */
  requestCount(endpoint: string): number {
    return this.counters.byEndpoint[endpoint] ?? 0;
  }

  /** Adds entries as another program would. @returns the result for each entry */
  add(list: ListName, entries: readonly string[]): ListChange[] {
    return entries.map((entry) => this.lists[list].add(entry));
  }

  /** Removes entries as another program would, in any spelling. @returns the result for each entry */
  remove(list: ListName, entries: readonly string[]): ListChange[] {
    return entries.map((entry) => this.lists[list].remove(entry));
  }

  /** Whether the network is on the list, in any spelling. */
  has(list: ListName, entry: string): boolean {
    return this.lists[list].has(entry);
  }
}

/** The turns of the event loop in which a client's disconnection is noticed. */
const turnsToNotice = 8;

export interface Flight {
  /** The client closed the connection before the response. */
  hungUp: boolean;
}

/**
 * The requests of one key that are in flight: from their arrival until the first byte of the response is written, or until the client
 * disconnects. A client that gives up a request and sends the next one does not overlap. Its disconnection may be noticed slightly
 * after the new request, so a new request waits a few turns of the event loop.
 */
class InFlight {
  readonly #flights = new Set<Flight>();
  /** The maximum number of requests in flight at the same time. */
  max = 0;
  /** Requests that arrived while another one was in flight. */
  overlaps = 0;

  /**
   * @param onClose receives a function that must be called when the connection closes, even after the response
   * @returns the new flight, and whether it overlaps another one
   */
  async begin(onClose: (hangUp: () => void) => void): Promise<{ flight: Flight; overlapping: boolean }> {
    const others = [...this.#flights];
    const flight: Flight = { hungUp: false };
    this.#flights.add(flight);
    onClose(() => this.#hangUp(flight));
    for (let turn = 0; turn < turnsToNotice && others.some(({ hungUp }) => !hungUp); turn += 1) await nextTurn();
    const overlapped = others.filter(({ hungUp }) => !hungUp).length;
    this.max = Math.max(this.max, overlapped + 1);
    if (overlapped > 0) this.overlaps += 1;
    return { flight, overlapping: overlapped > 0 };
  }

  end(flight: Flight): void {
    this.#flights.delete(flight);
  }

  /** The connection was closed. Has no effect on a request that was answered. */
  #hangUp(flight: Flight): void {
    if (this.#flights.delete(flight)) flight.hungUp = true;
  }
}

export const originTypes = ["alternate", "backup"] as const;
export type OriginType = (typeof originTypes)[number];

const hostNamePattern =
  /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/u;

/** The API returns only the primary; other origins can only be written. */
class SimulatedOrigins {
  readonly #others = new Map<string, OriginType>();
  #primary: string;

  constructor(primary: string) {
    this.#primary = primary;
  }

  get primary(): string {
    return this.#primary;
  }

  /** All origins except the primary, in the order in which they were added. */
  others(): { host: string; type: OriginType }[] {
    return Array.from(this.#others, ([host, type]) => ({ host, type }));
  }

  /** @returns whether it was added */
  add(host: string, type: OriginType): boolean {
    const name = host.toLowerCase();
    const isKnown = name === this.#primary || this.#others.has(name);
    if (isKnown || !isHost(name)) return false;
    this.#others.set(name, type);
    return true;
  }

  /** @returns whether it was removed: the primary can't be */
  remove(host: string): boolean {
    return this.#others.delete(host.toLowerCase());
  }

  /**
   * Makes the host the primary, as the WAF itself or a person would. The former primary becomes an alternate. @returns false if it is not
   * a host
   */
  makePrimary(host: string): boolean {
    const name = host.toLowerCase();
    if (!isHost(name)) return false;
    this.#others.set(this.#primary, "alternate");
    this.#others.delete(name);
    this.#primary = name;
    return true;
  }
}

/** A DNS name or an IP address: no scheme, no port, no path. Lower case is expected. */
function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  return hostNamePattern.test(text) && !/^[0-9.]+$/u.test(text);
}
