import { describe, expect, test } from "@jest/globals";
import { addresses, anInstance, blocking } from "../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";

function told({ history }: ConvergeWorld): string[] {
  return history.map(
    ({ kind, target, values, owners, note }) => `${kind} ${target} ${values.join(",")} ${owners} ${note}`,
  );
}

describe("A run adds to the history", () => {
  test("the entries that it added and removed, and their rules", async () => {
    const world = await converged({ rules: [blocking("a", ["192.0.2.1", "192.0.2.2"])] });
    await world.pass({ rules: [blocking("a", ["192.0.2.1"])] });
    await world.pass();
    expect(told(world)).toStrictEqual([
      "Added blocklist 192.0.2.1 WafIpRule:edge/a ",
      "Added blocklist 192.0.2.2 WafIpRule:edge/a ",
      "Removed blocklist 192.0.2.2 WafIpRule:edge/a ",
    ]);
    expect(world.history.every(({ atMs }) => atMs > 0)).toBe(true);
  });

  test("a write with an unknown outcome, and its outcome according to the list", async () => {
    const unknown = { code: "TimedOut", message: "The API did not answer within 10 s." } as const;
    for (const [effect, further] of [
      ["After", ["Added blocklist 192.0.2.1 WafIpRule:edge/a found when the list was read again"]],
      ["Before", ["Added blocklist 192.0.2.1 WafIpRule:edge/a "]],
    ] as const) {
      const world = new ConvergeWorld({ declared: { rules: [blocking("a", ["192.0.2.1"])] } });
      world.waf.failOn({ on: "AddEntry", effect, fault: unknown });
      await world.pass();
      await world.pass();
      expect(told(world)).toStrictEqual([
        "OutcomeUnknown blocklist 192.0.2.1 WafIpRule:edge/a addition: The API did not answer within 10 s.",
        ...further,
      ]);
    }
  });

  test("an entry that another writer removed, and its second addition", async () => {
    const world = await converged({ rules: [blocking("a", ["192.0.2.1"])] });
    world.waf.lists.blocklist.length = 0;
    await world.pass();
    expect(told(world).slice(1)).toStrictEqual([
      "Drifted blocklist 192.0.2.1 WafIpRule:edge/a removed by another writer",
      "Added blocklist 192.0.2.1 WafIpRule:edge/a ",
    ]);
  });

  test("the removals that a person approved", async () => {
    const all = addresses(200);
    const world = await converged({ rules: [blocking("a", all)] });
    const { facts } = await world.pass({ rules: [blocking("a", all.slice(0, 1))] });
    const hash = facts?.plan?.held?.hash ?? "";
    const before = world.history.length;
    await world.pass({ instance: anInstance({ meta: { annotations: { "wafsync.dev/approve-removals": hash } } }) });
    const kinds = world.history.slice(before).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "Approved")).toHaveLength(199);
    expect(kinds.filter((kind) => kind === "Removed")).toHaveLength(199);
  });
});
