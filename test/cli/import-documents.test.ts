import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { observeSpellings } from "../../src/model/observed.ts";
import { emptyInventory } from "../../src/model/inventory.ts";
import { compileDesired } from "../../src/decide/desired.ts";
import type { Plan } from "../../src/decide/plan.ts";
import { buildImport, gatheredFrom, type Import, type WafContent } from "../../src/cli/import-command.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { addresses } from "../support/builders/declare.ts";
import { anyNetwork, spelling } from "../support/builders/arbitraries.ts";
import { nowMs, planInstance } from "../support/builders/gathered.ts";

const names = {
  instance: { namespace: "shop", name: "main" },
  baseUrl: "https://waf.example",
};

function content(
  blocklist: readonly string[],
  allowlist: readonly string[] = [],
  primaryOrigin = "o.example",
): WafContent {
  return { domain: "www.shop.example", primaryOrigin, lists: { blocklist, allowlist } };
}

/** What the first run after the import would do. */
function planAfter(built: Import, { domain, primaryOrigin, lists }: WafContent): Plan {
  const gathered = gatheredFrom(
    built.files.flatMap(({ documents }) => documents),
    names.instance,
  );
  return planInstance({
    desired: compileDesired(gathered, nowMs),
    observed: {
      domain,
      primaryOrigin,
      lists: { blocklist: observeSpellings(lists.blocklist), allowlist: observeSpellings(lists.allowlist) },
      readAtMs: { blocklist: nowMs, allowlist: nowMs },
    },
    inventory: emptyInventory,
    nowMs,
  });
}

describe("An import", () => {
  test("splits a list that is too long for one rule", () => {
    const made = content(addresses(20_001));
    const built = buildImport(names, made);
    const file = built.files.find(({ name }) => name === "main-blocklist.yaml");
    expect(file?.documents).toHaveLength(3);
    expect(planAfter(built, made).adoptions).toHaveLength(20_001);
  });

  test("skips entries that the default guards reject, and says what to write to allow them", () => {
    const made = content(["0.0.0.0/0", "10.0.0.1", "192.0.2.1"], ["203.0.0.0/8"]);
    const built = buildImport(names, made);
    expect(built.skipped.map(({ list, spelling: shown, why }) => [list, shown, why])).toStrictEqual([
      ["blocklist", "0.0.0.0/0", expect.stringContaining("minPrefixLength")],
      ["blocklist", "10.0.0.1", expect.stringContaining("specialPurpose")],
      ["allowlist", "203.0.0.0/8", expect.stringContaining("allowMinPrefixLength")],
    ]);
    expect(planAfter(built, made).operations).toStrictEqual([]);
  });

  test("skips entries that can't be declared without a call, and reports the reason", () => {
    const made = content(["192.0.2.1", "no address", "198.51.100.0/24"], ["192.0.2.1"], "198.51.100.9");
    const built = buildImport(names, made);
    expect(built.skipped.map(({ list, spelling: shown }) => `${list} ${shown}`)).toStrictEqual([
      "blocklist no address",
      "blocklist 198.51.100.0/24",
      "allowlist 192.0.2.1",
    ]);
    expect(built.skipped[1]?.why).toContain("must stay reachable");
    expect(planAfter(built, made).operations).toStrictEqual([]);
  });

  test("of any lists is followed by a plan with adoptions only, and no calls", () => {
    const text = fc.oneof(
      { weight: 8, arbitrary: anyNetwork.chain(spelling) },
      { weight: 1, arbitrary: fc.constantFrom("nonsense", "", " 192.0.2.1 ", "::ffff:192.0.2.1", "192.0.2.1/032") },
    );
    const texts = fc.array(text, { maxLength: 15 });
    const origin = fc.oneof(
      fc.constant("o.example"),
      fc.constantFrom("192.0.2.1", "10.0.0.1", "2001:db8::1", "not a host", ""),
    );
    fc.assert(
      fc.property(texts, texts, origin, (blocklist, allowlist, primaryOrigin) => {
        const made = content(blocklist, allowlist, primaryOrigin);
        const built = buildImport(names, made);
        const plan = planAfter(built, made);
        expect(plan.operations).toStrictEqual([]);
        expect(plan.held).toBeUndefined();
        const total =
          new Set(observeSpellings(blocklist).keys()).size + new Set(observeSpellings(allowlist).keys()).size;
        expect(plan.adoptions.length).toBe(built.counts.blocklist + built.counts.allowlist);
        expect(plan.adoptions.length + built.skipped.length).toBe(total);
      }),
      { numRuns: caseCount(3_000) },
    );
  });
});
