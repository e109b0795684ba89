import { describe, expect, test } from "@jest/globals";
import { addresses, anInstance, blocking } from "../../support/builders/declare.ts";
import { nowMs } from "../../support/builders/gathered.ts";
import { ConvergeWorld } from "../../support/worlds/converge-world.ts";

const annotation = "wafsync.dev/approve-removals";

async function worldOfTwo(): Promise<ConvergeWorld> {
  const ends = { expiresAtMs: nowMs + 60_000 };
  const rules = [
    blocking("first", addresses(3)),
    blocking("second", addresses(3, 100)),
    blocking("third", addresses(2, 200), ends),
  ];
  const world = new ConvergeWorld({ declared: { rules } });
  await world.pass();
  return world;
}

function approve(world: ConvergeWorld, hash: string, location = ""): void {
  world.declare({ instance: anInstance({ meta: { annotations: { [annotation]: hash }, location } }) });
}

function heldPlan(world: ConvergeWorld): string {
  return (world.status.read(world.instance) as { heldPlan: string }).heldPlan;
}

describe("One odd line in a rule", () => {
  test("holds the removals of that rule, while those of another one and an expiry go through", async () => {
    const world = await worldOfTwo();
    const odd = blocking("first", ["nonsense", ...addresses(1)]);
    world.declare({
      rules: [odd, blocking("second", addresses(1, 100)), blocking("third", addresses(2, 200), { expiresAtMs: nowMs })],
    });
    await world.pass();
    expect(world.waf.lists.blocklist.toSorted()).toEqual([...addresses(3), ...addresses(1, 100)].toSorted());
    const message = world.status.message(world.instance, "RemovalsHeld");
    expect(message).toContain(
      "2 removals from the blocklist (198.18.0.1, 198.18.0.2) are on hold while something can't be read",
    );
    expect(message).toContain("They were last wanted by WafIpRule edge/first.");
    expect(message).toContain(`kubectl annotate --overwrite wafinstance -n edge shop ${annotation}=${heldPlan(world)}`);
    expect(world.status.faults).toEqual([]);
  });

  test("is overridden by an approval of exactly these removals, once", async () => {
    const world = await worldOfTwo();
    const odd = blocking("first", ["nonsense"]);
    world.declare({ rules: [odd] });
    await world.pass();
    const hash = heldPlan(world);
    approve(world, hash);
    await world.pass();
    expect(world.waf.lists.blocklist).toEqual([]);
    const approved = world.status.events.filter(({ reason }) => reason === "RemovalsApproved");
    expect(approved.map(({ message }) => message)).toEqual([`3 removals are approved by ${annotation}: "${hash}".`]);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBeUndefined();

    world.declare({ rules: [blocking("first", addresses(3))] });
    await world.pass();
    world.declare({ rules: [odd] });
    await world.pass();
    expect(world.waf.lists.blocklist).toHaveLength(3);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBe("True ApprovalMismatch");
    await world.pass();
    expect(world.status.eventReasons().filter((reason) => reason === "ApprovalMismatch")).toHaveLength(1);
    expect(world.status.message(world.instance, "RemovalsHeld")).toContain(
      `The annotation ${annotation}: "${hash}" does not match`,
    );
    expect(heldPlan(world)).not.toBe(hash);
    expect(world.status.faults).toEqual([]);
  });

  test("in a directory says into which file the approval goes, and no command", async () => {
    const world = await worldOfTwo();
    world.declare({ rules: [blocking("first", ["nonsense"])] });
    approve(world, "", "waf/shop.yaml:1");
    await world.pass();
    const message = world.status.message(world.instance, "RemovalsHeld");
    expect(message).toContain(
      `write into metadata.annotations of WafInstance edge/shop (waf/shop.yaml:1): ${annotation}: "${heldPlan(world)}"`,
    );
    expect(message).not.toContain("kubectl");
  });
});
