import { describe, expect, test } from "@jest/globals";
import { addresses, allowing, anInstance, blocking, createdMs } from "../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";

const annotation = "wafsync.dev/approve-removals";

/** Removes more entries than the guards allow. */
async function heldWorld(): Promise<ConvergeWorld> {
  const world = await converged({ rules: [blocking("first", addresses(3))] });
  approve(world, "");
  world.declare({ rules: [] });
  await world.pass();
  return world;
}

function approve(world: ConvergeWorld, hash: string, location = ""): void {
  const meta = { annotations: { [annotation]: hash }, location };
  world.declare({ instance: anInstance({ meta, guards: { maxRemovals: 0 } }) });
}

function heldPlan(world: ConvergeWorld): string {
  return (world.status.read(world.instance) as { heldPlan: string }).heldPlan;
}

describe("Removals on hold", () => {
  test("continue after an approval of exactly these removals, once", async () => {
    const world = await heldWorld();
    const hash = heldPlan(world);
    approve(world, hash);
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual([]);
    const approved = world.status.events.filter(({ reason }) => reason === "RemovalsApproved");
    expect(approved.map(({ message }) => message)).toStrictEqual([
      `3 removals are approved by ${annotation}: "${hash}".`,
    ]);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBeUndefined();

    world.declare({ rules: [blocking("first", addresses(3))] });
    await world.pass();
    world.declare({ rules: [] });
    await world.pass();
    expect(world.waf.lists.blocklist).toHaveLength(3);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBe("True TooManyRemovals");
    await world.pass();
    expect(world.status.eventReasons().filter((reason) => reason === "ApprovalMismatch")).toHaveLength(1);
    expect(world.status.message(world.instance, "RemovalsHeld")).toContain(
      `The annotation ${annotation}: "${hash}" does not match`,
    );
    expect(heldPlan(world)).not.toBe(hash);
  });

  test("in a directory, name the file for the approval and no kubectl command", async () => {
    const world = await heldWorld();
    approve(world, "", "waf/shop.yaml:1");
    await world.pass();
    const message = world.status.message(world.instance, "RemovalsHeld");
    expect(message).toContain(
      `add to metadata.annotations of WafInstance edge/shop (waf/shop.yaml:1): ${annotation}: "${heldPlan(world)}"`,
    );
    expect(message).not.toContain("kubectl");
  });
});

describe("An Allow rule for a blocked address", () => {
  /** As in a directory, where the age is unknown: the first name has precedence. */
  const rules = [
    blocking("scanners", addresses(2), { meta: { createdAtMs: undefined } }),
    allowing("a-partner", addresses(1), { meta: { createdAtMs: undefined } }),
  ];

  async function worldOfConflict(): Promise<ConvergeWorld> {
    const world = await converged({ rules: rules.slice(0, 1) });
    world.declare({ rules });
    await world.pass();
    return world;
  }

  test("does not lift the block, regardless of its name, and reports which rule blocks the address", async () => {
    const world = await worldOfConflict();
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual(addresses(2));
    expect(world.waf.lists.allowlist).toStrictEqual([]);
    const partner = rules[1]!.rule.meta;
    expect(world.status.condition(partner, "Accepted")).toBe("False Conflict");
    expect(world.status.message(partner, "Accepted")).toContain(
      "WafIpRule edge/scanners with action Block already has",
    );
  });

  test("stays without precedence while the WAF is unreachable, even in a new process", async () => {
    const world = await worldOfConflict();
    world.restart();
    world.waf.failOn({
      on: "ReadOrigins",
      effect: "Before",
      fault: { code: "Unavailable", message: "The API answered 503." },
    });
    expect((await world.pass()).result.kind).toBe("Failed");
    expect(world.status.condition(rules[1]!.rule.meta, "Accepted")).toBe("False Conflict");
    expect(world.status.condition(rules[0]!.rule.meta, "Accepted")).toBe("True Accepted");
  });

  test("does not get an address that the Block rule declares again before it was allowed, although both lists record it", async () => {
    const older = { meta: { createdAtMs: createdMs - 1 } };
    const [early = "", late = ""] = addresses(2);
    const world = await converged({ rules: [blocking("scanners", [late])] });
    world.declare({ rules: [blocking("scanners", []), allowing("partner", [early, late], older)] });
    world.onCall(({ name, text }) => {
      if (name !== "AddEntry" || text !== early) return;
      world.declare({ rules: [blocking("scanners", [late]), allowing("partner", [early, late], older)] });
    });
    await world.pass();
    expect(world.waf.lists).toStrictEqual({ blocklist: [late], allowlist: [early] });
    expect(world.waf.writes()).not.toContain(`AddEntry allowlist ${late}`);
  });

  test("gets the address once the Block rule no longer declares it", async () => {
    const world = await worldOfConflict();
    world.declare({ rules: [blocking("scanners", addresses(1, 1)), rules[1]!] });
    await world.pass();
    expect(world.waf.lists.allowlist).toStrictEqual(addresses(1));
    expect(world.waf.lists.blocklist).toStrictEqual(addresses(1, 1));
  });
});
