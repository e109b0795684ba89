// What tests and the control port see of one WAF, and what they can do to it behind the API's back.
import type { ListChange } from "./simulated-list.ts";
import type { LogEntry } from "./log-entries.ts";
import type { OriginChange, OriginType } from "./simulated-origins.ts";
import type { ListName, SimulatedWaf, WafCounters } from "./simulated-waf.ts";
import type { RequestRecord, SimulatorWorld } from "./simulator-world.ts";

export interface WafState {
  readonly domain: string;
  readonly plan: string;
  readonly primaryOrigin: string;
  readonly origins: readonly { readonly host: string; readonly type: OriginType }[];
  readonly blocklist: readonly string[];
  readonly allowlist: readonly string[];
  readonly counters: Readonly<WafCounters>;
  readonly inFlight: number;
  readonly maxInFlight: number;
  readonly overlaps: number;
}

export class WafView {
  readonly #waf: SimulatedWaf;
  readonly #world: SimulatorWorld;

  constructor(waf: SimulatedWaf, world: SimulatorWorld) {
    this.#waf = waf;
    this.#world = world;
  }

  /** The domain that it answers with. */
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

  /** Every origin but the primary. */
  get origins(): { host: string; type: OriginType }[] {
    return this.#waf.origins.others();
  }

  /** The counters as they are now: a copy. */
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

  /** The remembered requests of this WAF, oldest first. */
  get requests(): RequestRecord[] {
    return this.#world.records().filter(({ domain }) => domain === this.#waf.domain);
  }

  /** How many requests came for an endpoint such as `POST /api/blocklist_ip`. */
  requestCount(endpoint: string): number {
    return this.#waf.counters.byEndpoint[endpoint] ?? 0;
  }

  /** Edits a list as another program would. @returns what came of each entry */
  add(list: ListName, entries: readonly string[]): ListChange[] {
    return entries.map((entry) => this.#waf.lists[list].add(entry));
  }

  /** Removes entries as another program would, in whatever spelling. @returns what came of each entry */
  remove(list: ListName, entries: readonly string[]): ListChange[] {
    return entries.map((entry) => this.#waf.lists[list].remove(entry));
  }

  /** Whether the network is on the list, in any spelling. */
  has(list: ListName, entry: string): boolean {
    return this.#waf.lists[list].has(entry);
  }

  /** The primary until now becomes an alternate. */
  makePrimary(host: string): OriginChange {
    return this.#waf.origins.makePrimary(host);
  }

  /** From now on the key answers with another domain. */
  changeDomain(domain: string): void {
    this.#waf.domain = domain;
  }

  /** Puts an entry into the logs, to be read from that time on (milliseconds since 1970). @returns whether there was room */
  addLogEntry(entry: LogEntry, visibleAtMs: number): boolean {
    return this.#waf.logs.add(entry, visibleAtMs);
  }

  /** Every scroll id that was handed out becomes invalid. */
  forgetScrolls(): void {
    this.#waf.logs.forgetScrolls();
  }

  state(): WafState {
    const { domain, primaryOrigin, origins, blocklist, allowlist, counters, inFlight, maxInFlight, overlaps } = this;
    const { plan } = this.#waf;
    return {
      domain,
      plan,
      primaryOrigin,
      origins,
      blocklist,
      allowlist,
      counters,
      inFlight,
      maxInFlight,
      overlaps,
    };
  }
}
