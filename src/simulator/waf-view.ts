// What tests and the control port can see and change of one WAF without its API.
import type { ListChange } from "./simulated-list.ts";
import type { LogEntry } from "./log-entries.ts";
import type { OriginType } from "./simulated-origins.ts";
import type { ListName, SimulatedWaf, WafCounters } from "./simulated-waf.ts";
import type { RequestRecord, SimulatorWorld } from "./simulator-world.ts";

export class WafView {
  readonly #waf: SimulatedWaf;
  readonly #world: SimulatorWorld;

  constructor(waf: SimulatedWaf, world: SimulatorWorld) {
    this.#waf = waf;
    this.#world = world;
  }

  /** The domain in the responses. */
  get domain(): string {
    return this.#waf.domain;
  }

  /** The lists as a read of the API would show them now. */
  get blocklist(): string[] {
    return this.#waf.lists.blocklist.shown(this.#world.settings.spelling);
  }

  get allowlist(): string[] {
    return this.#waf.lists.allowlist.shown(this.#world.settings.spelling);
  }

  get primaryOrigin(): string {
    return this.#waf.origins.primary;
  }

  /** All origins except the primary. */
  get origins(): { host: string; type: OriginType }[] {
    return this.#waf.origins.others();
  }

  /** A copy of the current counters. */
  get counters(): WafCounters {
    return structuredClone(this.#waf.counters);
  }

  get inFlight(): number {
    return this.#waf.inFlight.count;
  }

  get maxInFlight(): number {
    return this.#waf.inFlight.max;
  }

  get overlaps(): number {
    return this.#waf.inFlight.overlaps;
  }

  /** The recorded requests of this WAF, oldest first. */
  get requests(): RequestRecord[] {
    return this.#world.records().filter(({ domain }) => domain === this.#waf.domain);
  }

  /** The number of requests to an endpoint such as `POST /api/blocklist_ip`. */
  requestCount(endpoint: string): number {
    return this.#waf.counters.byEndpoint[endpoint] ?? 0;
  }

  /** Adds entries as another program would. @returns the result for each entry */
  add(list: ListName, entries: readonly string[]): ListChange[] {
    return entries.map((entry) => this.#waf.lists[list].add(entry));
  }

  /** Removes entries as another program would, in any spelling. @returns the result for each entry */
  remove(list: ListName, entries: readonly string[]): ListChange[] {
    return entries.map((entry) => this.#waf.lists[list].remove(entry));
  }

  /** Whether the network is on the list, in any spelling. */
  has(list: ListName, entry: string): boolean {
    return this.#waf.lists[list].has(entry);
  }

  /** Changes the domain that the key belongs to. */
  changeDomain(domain: string): void {
    this.#waf.domain = domain;
  }

  /**
   * Adds a log entry that can be read from that time on (milliseconds since 1970). @returns false if there are too many entries
   */
  addLogEntry(entry: LogEntry, visibleAtMs: number): boolean {
    return this.#waf.logs.add(entry, visibleAtMs);
  }
}
