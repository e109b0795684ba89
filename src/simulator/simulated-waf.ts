// One WAF, which belongs to one API key, with its state and its counters.
import { InFlight } from "./in-flight.ts";
import { SimulatedList } from "./simulated-list.ts";
import { SimulatedLogs } from "./simulated-logs.ts";
import type { LogSettings, Plan } from "./simulated-logs.ts";
import { SimulatedOrigins } from "./simulated-origins.ts";

/** One API key and the WAF that it belongs to. */
export interface SimulatedKey {
  readonly key: string;
  /** By default `waf-1.example.test`, and so on. */
  readonly domain?: string | undefined;
  /** By default `origin.<domain>`. */
  readonly primaryOrigin?: string | undefined;
  /** How long logs are kept; `Advanced` (90 days) by default. */
  readonly plan?: Plan | undefined;
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
  /** Parameters that the contract does not define. They have no effect. */
  unknownParameters: number;
}

export class SimulatedWaf {
  /** The initial domain. The control port also finds the WAF by this name. */
  readonly firstDomain: string;
  readonly plan: Plan;
  readonly hasWaf: boolean;
  readonly origins: SimulatedOrigins;
  readonly lists: Readonly<Record<ListName, SimulatedList>>;
  readonly logs: SimulatedLogs;
  domain: string;
  counters = emptyCounters();
  inFlight = new InFlight();

  constructor(options: SimulatedKey, domain: string, logSettings: LogSettings) {
    this.firstDomain = domain;
    this.domain = domain;
    this.plan = options.plan ?? "Advanced";
    this.hasWaf = options.hasWaf ?? true;
    this.origins = new SimulatedOrigins(options.primaryOrigin ?? `origin.${domain}`);
    this.lists = { blocklist: new SimulatedList(), allowlist: new SimulatedList() };
    this.logs = new SimulatedLogs(this.plan, logSettings);
  }

  /** Restores the initial state, with empty lists. */
  reset(): void {
    this.domain = this.firstDomain;
    this.origins.reset();
    for (const name of listNames) this.lists[name].clear();
    this.logs.reset();
    this.counters = emptyCounters();
    this.inFlight = new InFlight();
  }
}

function emptyCounters(): WafCounters {
  return {
    requests: 0,
    byEndpoint: {},
    changes: 0,
    cacheClears: 0,
    refusals: 0,
    faults: 0,
    deletionsInOtherSpelling: 0,
    unknownParameters: 0,
  };
}
