import { describe, expect, test } from "@jest/globals";
import type { DeclaredOrigin } from "../../src/model/declared.ts";
import type { GatheredRule } from "../../src/model/gathered.ts";
import { seededRandom } from "../support/async/seeded-random.ts";
import { addresses, anInstance, anOrigin, aRule } from "../support/declared/declare.ts";
import { ConvergeWorld } from "../support/ports/converge-world.ts";
import type { WafFaultRule } from "../support/ports/fake-waf.ts";

const faults: readonly WafFaultRule["fault"][] = [
  "Crash",
  { code: "OutcomeUnknown", message: "No answer came within 10 s." },
  { code: "RateLimited", message: "The WAF asks to wait for 3 s (429).", retryAfterMs: 3_000 },
  { code: "Unavailable", message: "The WAF can't be reached." },
];
/** These promise that nothing was changed. */
const harmlessCodes = new Set(["RateLimited", "Unavailable"]);
const hosts = ["a.example", "b.example"];

/** One life of an instance: changes, faults and crashes at random, then quiet. The seed decides all of it. */
class Walk {
  readonly world = new ConvergeWorld({
    spell: (text) => `${text}/32`,
    declared: { instance: anInstance({ guards: { maxRemovals: 1_000, maxRemovalPercent: 100 } }) },
  });
  readonly #random: () => number;
  #generation = 1;
  /** Added by others, and declared by nobody. */
  readonly foreign = new Set<string>();

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  pick(count: number): number {
    return Math.floor(this.#random() * count);
  }

  declareSomething(): void {
    this.#generation += 1;
    const meta = { generation: this.#generation };
    const rules: GatheredRule[] = ["one", "two", "three"].flatMap((name, index) => {
      if (this.pick(4) === 0) return [];
      const action = index === 2 ? "Allow" : "Block";
      const from = (index === 2 ? 30 : 0) + this.pick(6);
      return [aRule(name, { meta, action, addresses: addresses(this.pick(8), from), priority: this.pick(3) })];
    });
    const origins: DeclaredOrigin[] = hosts.flatMap((host) =>
      this.pick(3) === 0 ? [] : [anOrigin(host, { meta, type: this.pick(2) === 0 ? "Alternate" : "Backup" })],
    );
    this.world.declare({ rules, origins });
  }

  disturb(): void {
    const { waf, inventory } = this.world;
    if (this.pick(3) === 0) {
      const fault = faults[this.pick(faults.length)] ?? "Crash";
      const isHarmless = fault !== "Crash" && harmlessCodes.has(fault.code);
      const effect = isHarmless || this.pick(2) === 0 ? "Before" : "After";
      waf.failOn({
        on: this.pick(3) === 0 ? "Read" : "Write",
        nth: 1 + this.pick(6),
        times: 1 + this.pick(3),
        effect,
        fault,
      });
    }
    if (this.pick(8) === 0)
      inventory.failNext((["Conflict", "Failed", "CrashBefore", "CrashAfter"] as const)[this.pick(4)]!);
    if (this.pick(6) === 0) {
      const text = `203.0.113.${this.pick(200)}`;
      if (!this.foreign.has(text)) waf.lists.blocklist.push(text);
      this.foreign.add(text);
    }
    if (this.pick(6) === 0) this.world.restart();
    const inTheMiddle = this.pick(4) === 0 ? waf.calls.length + 1 + this.pick(12) : undefined;
    this.world.onCall(() => {
      if (waf.calls.length === inTheMiddle) this.declareSomething();
    });
  }

  expectDeclared(): void {
    const { waf, status, source } = this.world;
    const { rules, origins } = source.declared(this.world.instance)!;
    const of = (action: string): string[] =>
      [...new Set(rules.flatMap(({ rule }) => (rule.action === action ? rule.addresses : [])))].toSorted();
    const owned = this.world.owned();
    expect(waf.lists.blocklist.toSorted()).toEqual(
      [...of("Block").map((text) => `${text}/32`), ...this.foreign].toSorted(),
    );
    expect(waf.lists.allowlist.toSorted()).toEqual(of("Allow").map((text) => `${text}/32`));
    expect([...owned.entries.blocklist.keys()].toSorted()).toEqual(of("Block"));
    expect([...owned.entries.allowlist.keys()].toSorted()).toEqual(of("Allow"));
    const wanted = origins.map(({ host, type }) => [host, type]).toSorted();
    expect([...waf.origins].toSorted()).toEqual(wanted);
    expect([...owned.origins].map(([host, { type }]) => [host, type]).toSorted()).toEqual(wanted);
    expect(waf.overlaps).toBe(0);
    expect(status.faults).toEqual([]);
    expect(status.condition(this.world.instance, "Ready")).toBe("True Ready");
  }
}

describe("After any history of changes, faults and crashes", () => {
  test.each(Array.from({ length: 1500 }, (_, seed) => seed))("the declared state is reached (seed %d)", async (seed) => {
    const walk = new Walk(seed);
    for (let step = 0; step < 12; step += 1) {
      if (walk.pick(2) === 0) walk.declareSomething();
      walk.disturb();
      const outcome = await walk.world.passOrCrash();
      if (walk.pick(2) === 0) await walk.world.sleepUntil(outcome?.wakeAtMs);
    }
    walk.world.waf.clearFaults();
    walk.world.onCall(() => undefined);
    // What the API refused, and what was fought over, is tried again after a while.
    await walk.world.passesUntilDone();
    await walk.world.clock.advance(5 * 3_600_000);
    await walk.world.passesUntilDone();
    walk.expectDeclared();
    const writes = walk.world.waf.writes().length;
    await walk.world.pass();
    expect(walk.world.waf.writes()).toHaveLength(writes);
  });
});
