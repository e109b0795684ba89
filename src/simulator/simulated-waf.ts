// One WAF instance: what one API key gives access to. Everything that can be seen or counted about it is here.
import { InFlight } from "./in-flight.ts";
import { SimulatedList } from "./simulated-list.ts";
import { SimulatedLogs } from "./simulated-logs.ts";
import type { LogSettings, Plan } from "./simulated-logs.ts";
import { SimulatedOrigins } from "./simulated-origins.ts";

/** One API key and the WAF that it belongs to. */
export interface SimulatedKey {
  readonly key: string;
  /** `waf-1.example.test` and so on by default. */
  readonly domain?: string | undefined;
  /** `origin.<domain>` by default. */
  readonly primaryOrigin?: string | undefined;
  /** How long logs are kept; `Advanced` (90 days) by default. */
  readonly plan?: Plan | undefined;
  /** False for an account whose logs answer 404. */
  readonly hasWaf?: boolean | undefined;
}

export const listNames = ["blocklist", "allowlist"] as const;
export type ListName = (typeof listNames)[number];

/** Requests are counted when they arrive, the other numbers when they have happened. */
export interface WafCounters {
  requests: number;
  /** By verb and path, as `POST /api/blocklist_ip` and `POST /clear`, without the key. */
  byEndpoint: Record<string, number>;
  /** Writes that changed something. */
  changes: number;
  cacheClears: number;
  /** Answers with a status of 400 and more that the contract asks for; faults are not among them. */
  refusals: number;
  faults: number;
  /** Deletions that named a listed network, but not as the list shows it. */
  deletionsInOtherSpelling: number;
  /** Parameters that the contract does not know. They change nothing. */
  unknownParameters: number;
}

export class SimulatedWaf {
  /** The domain that it was started with; the control port finds it by this name too. */
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

  /** As it was started, with empty lists. */
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
