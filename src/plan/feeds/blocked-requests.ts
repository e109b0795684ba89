// Determines which CrowdSec decisions blocked which requests, as far as the WAF's log shows it: it contains the client, but not the
// entry. A request counts for the decision about its address that this process knew at the time: never too many, perhaps too few.
import { type Entry, familyOf, parseDeclaredEntry } from "../../model/entry.ts";
import { NetworkIndex } from "../../model/entry-set.ts";
import type { ActiveDecision, ActiveDecisions } from "./crowdsec-decisions.ts";

export interface BlockedRequest {
  readonly client: string;
  readonly atMs: number;
}

export interface DroppedCount {
  readonly origin: string;
  /** The type of the decision: the action on the request. */
  readonly remediation: string;
  readonly ipType: "ipv4" | "ipv6";
  readonly count: number;
}

/** What was blocked since the last report, by origin, type and family. */
export class DroppedCounts {
  readonly #counts = new Map<string, DroppedCount>();

  count(active: ActiveDecisions, requests: readonly BlockedRequest[]): void {
    const finder = finderOf(active);
    for (const { client, atMs } of requests) {
      const parsed = parseDeclaredEntry(client);
      const decision = parsed.ok ? finder.find(parsed.entry) : undefined;
      if (!parsed.ok || decision === undefined) continue;
      // A time that can't be parsed is not counted.
      if (!(atMs >= decision.seenMs && atMs < decision.endMs)) continue;
      const { origin, type: remediation } = decision;
      this.add({ origin, remediation, ipType: familyOf(parsed.entry), count: 1 });
    }
  }

  add(dropped: DroppedCount): void {
    const key = JSON.stringify([dropped.origin, dropped.remediation, dropped.ipType]);
    const count = (this.#counts.get(key)?.count ?? 0) + dropped.count;
    this.#counts.set(key, { ...dropped, count });
  }

  /** Returns the counts and resets them. */
  take(): readonly DroppedCount[] {
    const taken = [...this.#counts.values()];
    this.#counts.clear();
    return taken;
  }
}

class DecisionFinder {
  readonly #byEntry = new Map<Entry, ActiveDecision>();
  readonly #networks: NetworkIndex;

  constructor(active: ActiveDecisions) {
    for (const decision of active.values()) {
      const { entry } = decision;
      if (entry === undefined) continue;
      const known = this.#byEntry.get(entry);
      if (known === undefined || known.endMs < decision.endMs) this.#byEntry.set(entry, decision);
    }
    this.#networks = new NetworkIndex([...this.#byEntry.keys()].filter((entry) => entry.includes("/")));
  }

  /** The decision for the address itself, or otherwise for a network that contains it. */
  find(address: Entry): ActiveDecision | undefined {
    const network = this.#networks.containing(address);
    return this.#byEntry.get(address) ?? (network === undefined ? undefined : this.#byEntry.get(network));
  }
}

/** Each change of the active decisions creates a new object. */
const finders = new WeakMap<ActiveDecisions, DecisionFinder>();

function finderOf(active: ActiveDecisions): DecisionFinder {
  const known = finders.get(active) ?? new DecisionFinder(active);
  finders.set(active, known);
  return known;
}
