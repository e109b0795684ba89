// Kills the process at each moment before and after a call of a port, in a separate run of a scenario for each moment, restarts it,
// and compares the final state with that of an undisturbed run.
import { listNames } from "../../../src/model/declared.ts";
import { begin, type Scenario, shop } from "./scenarios.ts";
import { simKey, SimWorld } from "./sim-world.ts";

/** Longer than a resync, which repairs the effects of a crash, and shorter than everything that only time would repair. */
const settleMs = 1_000_000;
const restartMs = 3_000;

export interface Ending {
  /** The relevant final state, as a text to compare. */
  readonly state: string;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  /** The moments at which the process could have been killed while the change was made. */
  readonly points: readonly string[];
  readonly clears: number;
  /** Writes that changed the WAF: `POST /api/blocklist_ip 192.0.2.1`. */
  readonly writes: readonly string[];
}

/** Runs a scenario, and kills the process at the moment with this number, counted from 0; never if it is undefined. */
export async function playScenario(scenario: Scenario, killAt: number | undefined): Promise<Ending> {
  const world = new SimWorld({ seed: 1 });
  world.cluster.change({ key: simKey });
  world.waf.lists.blocklist.push("203.0.113.7");
  world.ledger.changedByOthers({ kind: "Added", list: "blocklist", entry: "203.0.113.7" as never });
  begin(world, scenario);
  world.cluster.onChange = () => {
    for (const process of world.processes) if (process.life.alive) process.see(world.cluster.latest);
  };
  world.startProcess();
  await world.time.advance(60_000);
  const points: string[] = [];
  world.kills = (where) => points.push(where) - 1 === killAt;
  world.onKilled = () => world.time.after(restartMs, () => void world.startProcess());
  scenario.change(world.cluster);
  await world.time.advance(settleMs);
  scenario.answer?.(world);
  await world.time.advance(settleMs);
  return {
    state: stateOf(world),
    violations: world.ledger.violations,
    trace: world.trace,
    points,
    clears: world.counts.clears,
    writes: world.writes,
  };
}

/** The relevant final state, as a text to compare. */
export function stateOf(world: SimWorld): string {
  const { waf, cluster, status } = world;
  const { entries, origins, approval, handledTriggers } = world.inventory();
  const declared = cluster.now.instances.get(shop);
  const clear = cluster.now.clears.get("edge/deploy");
  return JSON.stringify(
    {
      lists: listNames.map((list) => waf.lists[list].toSorted()),
      origins: [...waf.origins],
      owned: listNames.map((list) => [...entries[list].keys()].toSorted()),
      owners: listNames.map((list) => [...entries[list]].map(([entry, { owners }]) => `${entry} ${owners}`).toSorted()),
      ownedOrigins: [...origins].map(([host, { type, addedAtMs, owners }]) => [
        host,
        type,
        addedAtMs !== undefined,
        owners,
      ]),
      isApproved: approval !== undefined,
      handled: handledTriggers.map(({ cacheClear, trigger }) => `${cacheClear} ${trigger}`),
      instance: declared === undefined ? "gone" : status.condition(declared.meta, "Ready"),
      clear: clear === undefined ? "none" : status.condition(clear.meta, "Complete"),
    },
    undefined,
    1,
  );
}
