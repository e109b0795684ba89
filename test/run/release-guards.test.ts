// A guard protects the declared state. A deleted instance declares nothing, so no guard, whatever its value, may retain the
// instance or its entries. The guards come from the schema, so a new guard is tested here automatically.
import { expect, test } from "@jest/globals";
import type { Guards } from "../../src/model/declared.ts";
import { extremesOf, guardNames } from "../support/builders/guard-schemas.ts";
import { addresses, allowing, anInstance, anOrigin, blocking } from "../support/builders/declare.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";

const foreign = "203.0.113.7";

const cases = guardNames.flatMap((guard) =>
  extremesOf(guard).map((value) => ({ guard, value, shown: JSON.stringify(value) })),
);

test.each(cases)(
  "An instance with the guard $guard at $shown is released when it is deleted",
  async ({ guard, value }) => {
    const world = new ConvergeWorld();
    world.waf.lists.blocklist.push(foreign);
    const rules = [blocking("feed", addresses(12)), allowing("office", ["192.0.2.1", "2001:db8::/32"])];
    await world.pass({ rules, origins: [anOrigin("198.51.100.1")] });
    expect(world.waf.lists.blocklist).toHaveLength(13);
    expect(world.lifecycle.isHeld(world.instance)).toBe(true);
    const guards = { [guard]: value } as Partial<Guards>;
    await world.pass({ instance: anInstance({ guards, consistencyWindowMs: 0, meta: { deleting: true } }) });
    expect(world.lifecycle.isHeld(world.instance)).toBe(false);
    expect(world.waf.lists).toStrictEqual({ blocklist: [foreign], allowlist: [] });
    expect(world.waf.origins.size).toBe(0);
    expect(world.status.eventReasons()).not.toContain("EntriesLeftBehind");
  },
);

test("The instances of tests have all guards of the schema", () => {
  expect([...guardNames].sort()).toStrictEqual(Object.keys(anInstance().guards).sort());
});
