// The main promise: whatever is created, edited, renamed and deleted, while the operator runs or is stopped, the lists end as
// declared, with no call too many. What is urgent does not wait for what is long.
import { beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Manifest } from "../support/operator/manifests.ts";
import { addresses, configMap, instance, keySecret, origin, rule } from "../support/operator/manifests.ts";
import { describeOperator } from "../support/operator/operator-suite.ts";
import { callsOf } from "../support/operator/operator-world.ts";
import type { OperatorWorld, TestWaf } from "../support/operator/operator-world.ts";
import { randomNumbers } from "../support/async/seeded-random.ts";

/** Guards are not what is tested here. */
const unguarded = { guards: { maxRemovals: 100_000, maxRemovalPercent: 100 } };

interface Writes {
  readonly added: number;
  readonly removed: number;
}

function writesOf(waf: TestWaf): Writes {
  const calls = callsOf(waf);
  return { added: calls["POST /api/blocklist_ip"] ?? 0, removed: calls["DELETE /api/blocklist_ip"] ?? 0 };
}

/** One rule with one address for each place. */
function rulesFor(namespace: string, places: readonly number[], prefix = "rule"): Manifest[] {
  return places.map((place) => rule(namespace, `${prefix}-${place}`, addresses(1, place)));
}

function range(count: number, start = 0): number[] {
  return Array.from({ length: count }, (_, index) => start + index);
}

await describeOperator("declared lists", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  }, 60_000);

  async function whileStopped(act: () => Promise<void>): Promise<void> {
    await world().operator.end();
    await act();
    await world().startOperator();
  }

  /** Waits for the list and for the status of every object, and gives the writes that it took. */
  async function settle(namespace: string, waf: TestWaf, declared: readonly string[], before: Writes): Promise<Writes> {
    const wanted = [...declared].sort();
    await world().eventually(`${wanted.length} entries on the list`, () => {
      const { blocklist } = waf.view;
      return blocklist.length === wanted.length && blocklist.sort().every((entry, index) => entry === wanted[index]);
    });
    await world().allReady(namespace);
    const after = writesOf(waf);
    return { added: after.added - before.added, removed: after.removed - before.removed };
  }

  describe.each([
    { count: 1, stopped: false },
    { count: 1, stopped: true },
    { count: 50, stopped: false },
    { count: 50, stopped: true },
    { count: 1000, stopped: false },
  ])("with $count rules, operator stopped: $stopped", ({ count, stopped }) => {
    const during = async (act: () => Promise<void>): Promise<void> => await (stopped ? whileStopped(act) : act());
    const places = range(count);
    const edited = places.slice(0, Math.ceil(count / 5));
    const kept = places.slice(edited.length);
    const editedAddresses = edited.flatMap((place) => addresses(1, place + 10_000));
    const declared = [...editedAddresses, ...kept.flatMap((place) => addresses(1, place))];
    let namespace: string;
    let waf: TestWaf;
    let before: Writes;

    beforeAll(async () => {
      ({ namespace, waf } = await world().newInstance(`rules-${count}`, unguarded));
    });

    beforeEach(() => {
      before = writesOf(waf);
    });

    test("what is created is added", async () => {
      await during(async () => await world().apply(...rulesFor(namespace, places)));
      expect(await settle(namespace, waf, addresses(count), before)).toEqual({ added: count, removed: 0 });
    }, 90_000);

    test("what is edited is exchanged", async () => {
      const changed = edited.map((place) => rule(namespace, `rule-${place}`, addresses(1, place + 10_000)));
      await during(async () => await world().apply(...changed));
      const exchanged = { added: edited.length, removed: edited.length };
      expect(await settle(namespace, waf, declared, before)).toEqual(exchanged);
    }, 90_000);

    test("what is renamed costs no call", async () => {
      const renamed = edited.map((place) => rule(namespace, `renamed-${place}`, addresses(1, place + 10_000)));
      const gone = rulesFor(namespace, edited);
      await during(async () => {
        await world().apply(...renamed);
        await world().remove(...gone);
      });
      expect(await settle(namespace, waf, declared, before)).toEqual({ added: 0, removed: 0 });
    }, 90_000);

    test("what is deleted is removed", async () => {
      const path = `/apis/wafsync.dev/v1alpha1/namespaces/${namespace}/wafiprules`;
      await during(async () => void (await world().requests.expect({ method: "DELETE", path })));
      expect(await settle(namespace, waf, [], before)).toEqual({ added: 0, removed: count });
    }, 90_000);
  });
});
