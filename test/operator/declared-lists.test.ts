// The main promise: whatever is created, edited, renamed and deleted, while the operator runs or is stopped, the lists match the
// declared state in the end, without unnecessary calls. Urgent entries do not wait for long lists.
// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { addresses, apiVersion, type Manifest, rule } from "../support/builders/manifests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { callsOf, type TestWaf } from "../support/worlds/operator-world.ts";

/** The guards are not the subject of these tests. */
const unguarded = { guards: { maxRemovals: 100_000, maxRemovalPercent: 100 } };

interface Writes {
  readonly added: number;
  readonly removed: number;
}

function writesOf(waf: TestWaf): Writes {
  const calls = callsOf(waf);
  return { added: calls["POST /api/blocklist_ip"] ?? 0, removed: calls["DELETE /api/blocklist_ip"] ?? 0 };
}

/** One rule with one address for each number. */
function rulesFor(namespace: string, places: readonly number[], prefix = "rule"): Manifest[] {
  return places.map((place) => rule(namespace, `${prefix}-${place}`, addresses(1, place)));
}

function range(count: number, start = 0): number[] {
  return Array.from({ length: count }, (_, index) => start + index);
}

await describeOperator("declared lists", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

  /** Waits for the list and for the status of every object, and returns the writes that this took. */
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

  test.each([
    { count: 50, stopped: true },
    { count: 1000, stopped: false },
  ])(
    "$count rules are created, edited, renamed and deleted, operator stopped: $stopped",
    async ({ count, stopped }) => {
      const { namespace, waf } = await world().newInstance(`rules-${count}`, unguarded);
      /** The writes that the change costs, until the list has these entries. */
      const costs = async (change: () => Promise<unknown>, entries: readonly string[]): Promise<Writes> => {
        const before = writesOf(waf);
        if (stopped) await world().operator.end();
        await change();
        if (stopped) await world().startOperator();
        return await settle(namespace, waf, entries, before);
      };
      const places = range(count);
      const created = rulesFor(namespace, places);
      const change = async () => await world().apply(...created);
      expect(await costs(change, addresses(count))).toStrictEqual({ added: count, removed: 0 });

      const edited = places.slice(0, count / 5);
      const changed = edited.map((place) => rule(namespace, `rule-${place}`, addresses(1, place + 10_000)));
      const declared = [...addresses(count - edited.length, edited.length), ...addresses(edited.length, 10_000)];
      const exchanged = { added: edited.length, removed: edited.length };
      expect(await costs(async () => await world().apply(...changed), declared)).toStrictEqual(exchanged);

      const renamed = edited.map((place) => rule(namespace, `renamed-${place}`, addresses(1, place + 10_000)));
      const rename = async (): Promise<void> => {
        await world().apply(...renamed);
        await world().remove(...changed);
      };
      expect(await costs(rename, declared)).toStrictEqual({ added: 0, removed: 0 });

      const statuses = [...world().history.writes].filter(([name]) => name.startsWith(`WafIpRule ${namespace}/`));
      expect(statuses.length).toBeGreaterThan(count);
      expect(Math.max(...statuses.map(([, times]) => times))).toBeLessThan(8);
      expect(statuses.reduce((sum, [, times]) => sum + times, 0)).toBeLessThan(3 * statuses.length);
      // At most 20 rules that change in a run get their own event.
      expect((await world().events(namespace)).length).toBeLessThan(300);
      await world().atRest();
      expect(await world().restless()).toStrictEqual([]);

      const path = `/apis/${apiVersion}/namespaces/${namespace}/wafiprules`;
      const deletion = async () => await world().requests.expect({ method: "DELETE", path });
      expect(await costs(deletion, [])).toStrictEqual({ added: 0, removed: count });
    },
  );
});
