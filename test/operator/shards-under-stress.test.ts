// Two, three and five replicas that share the shards while they write: killed, paused, disconnected from the API server, joined by
// others, and restarted with another number of shards. No two of them ever call one WAF at the same time, and within a Lease after
// every fault, each instance is reconciled again.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { fast } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { ShardReplicas } from "../support/worlds/shard-replicas.ts";
import type { Replica } from "../support/worlds/shard-replicas.ts";

/** A pause after which another replica holds the Leases. */
const pauseMs = 90_000;
const latencyMs = 15;
const addressesOfWave = 60;

await describeOperator("shards under stress", (world) => {
  let replicas: ShardReplicas;

  beforeAll(async () => {
    replicas = await ShardReplicas.begin(world(), fast(8), 10);
    world().simulator.settings.latencyMs = latencyMs;
  });

  afterAll(async () => {
    world().simulator.settings.latencyMs = 0;
    await replicas.endAll();
    await replicas.proxy.close();
  });

  async function start(lease: string, count: number, shards: number): Promise<void> {
    while (replicas.living.length < count) await replicas.start(lease, shards);
    await replicas.evenlyShared(shards);
  }

  /** Causes a fault in the middle of many calls. Afterwards, every instance must be reconciled again. */
  async function strikes(strike: () => Promise<void>): Promise<void> {
    await replicas.declareMany(addressesOfWave);
    await replicas.pass(2_000);
    await strike();
    await replicas.everyInstanceWorks();
    expect(replicas.overlaps()).toStrictEqual([]);
  }

  function victim(): Replica {
    const [oldest] = replicas.living;
    if (oldest === undefined) throw new Error("no replica is left");
    return oldest;
  }

  describe.each([
    [2, 3],
    [3, 5],
    [5, 5],
  ])("%i replicas, %i shards", (count, shards) => {
    const lease = `stress-${count}`;

    test("share them evenly", async () => {
      await start(lease, count, shards);
      await replicas.everyInstanceWorks();
      expect(replicas.overlaps()).toStrictEqual([]);
    });

    test("one is killed", async () => {
      await strikes(async () => void (await victim().operator.end("SIGKILL")));
      await start(lease, count, shards);
    });

    test("one is paused until its Leases are taken, and continues", async () => {
      const paused = victim();
      await strikes(async () => {
        paused.operator.process.child.kill("SIGSTOP");
        await replicas.pass(pauseMs);
        await replicas.declareMany(addressesOfWave);
        paused.operator.process.child.kill("SIGCONT");
      });
      expect((await paused.operator.process.ended).code).toBe(1);
      await start(lease, count, shards);
    });

    test("one is disconnected from the API server, and ends before others take its Leases", async () => {
      const cutOff = victim();
      await strikes(async () => {
        cutOff.network.fallSilent();
        expect((await cutOff.operator.process.ended).code).toBe(1);
      });
      await start(lease, count, shards);
    });

    test("all are replaced one by one, as in a rolling update", async () => {
      await strikes(async () => {
        for (const old of replicas.living) {
          await replicas.start(lease, shards);
          await old.operator.end("SIGTERM");
        }
      });
      await replicas.evenlyShared(shards);
      await replicas.endAll();
    });
  });

  test("replicas with 1 shard, then 4, then 1 replace one another without overlap", async () => {
    const lease = "stress-resharding";
    await replicas.start(lease, 1);
    await replicas.everyInstanceWorks();
    for (const [shards, count] of [
      [4, 2],
      [3, 2],
      [1, 1],
    ] as const) {
      await strikes(async () => {
        const former = replicas.living;
        for (let index = 0; index < count; index += 1) await replicas.start(lease, shards);
        for (const old of former) await old.operator.end("SIGTERM");
      });
    }
    await replicas.endAll();
  });
});
