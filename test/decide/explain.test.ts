import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { listNames } from "../../src/model/declared.ts";
import { finished } from "../../src/model/finished.ts";
import type { Entry } from "../../src/address/entry.ts";
import { NetworkIndex } from "../../src/address/ranges.ts";
import { examineInSlices, explainAddress, type Explanation } from "../../src/decide/explain.ts";
import { compileDesired } from "../../src/decide/desired.ts";
import { addressBits, parseNetwork, spellingModes } from "../../src/simulator/network.ts";
import { SimulatedList } from "../../src/simulator/simulated-list.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { addresses, allowing, anInstance, aRule, blocking, createdMs, mapSource } from "../support/builders/declare.ts";
import { anInventory, entry, gathered, type InventoryOverrides, nowMs, ownedBy } from "../support/builders/gathered.ts";
import { anyNetwork, spelling } from "../support/builders/arbitraries.ts";

interface Case {
  readonly rules?: Parameters<typeof gathered>[0];
  readonly blocklist?: readonly string[];
  readonly allowlist?: readonly string[];
  readonly inventory?: InventoryOverrides;
  readonly isUnread?: boolean;
}

function explain(address: string, { rules, blocklist = [], allowlist = [], inventory, isUnread }: Case): Explanation {
  const live = isUnread === true ? undefined : { blocklist, allowlist };
  const input = { gathered: gathered(rules), live, inventory: anInventory(inventory), nowMs };
  return explainAddress(entry(address), finished(examineInSlices(input)));
}

describe("Why an address is blocked", () => {
  test("each entry that covers it is named with its rule and the line of its source, the narrowest first", () => {
    const rules = [
      blocking("scanners", ["203.0.113.1", "203.0.113.0/24"]),
      aRule("feed", { texts: ["# a feed\n192.0.2.1\n\n203.0.113.0/26 # seen twice\n"] }),
    ];
    const inventory = {
      blocklist: [ownedBy("203.0.113.0/24", ["edge/scanners"]), ownedBy("203.0.113.0/26", ["edge/feed"])],
    };
    const { verdict, coverings } = explain("203.0.113.9", {
      rules: { rules },
      blocklist: ["203.0.113.0/24", "198.51.100.1", "203.0.113.0/26"],
      inventory,
    });
    expect(verdict).toBe("Blocked");
    expect(coverings.map(({ entry: one, isManaged }) => [one, isManaged])).toStrictEqual([
      ["203.0.113.0/26", true],
      ["203.0.113.0/24", true],
    ]);
    expect(
      coverings.flatMap(({ wantedBy }) => wantedBy.map(({ rule, sources }) => [rule.meta.name, sources])),
    ).toStrictEqual([
      ["feed", ["ConfigMap edge/list-0, key list, line 4"]],
      ["scanners", ["spec.addresses[1]"]],
    ]);
  });

  test("an entry that another writer added is reported in its spelling, without a rule", () => {
    const { verdict, coverings } = explain("2001:db8::9", { blocklist: ["2001:DB8:0:0::/32"] });
    expect(verdict).toBe("Blocked");
    expect(coverings).toMatchObject([
      { entry: "2001:db8::/32", spellings: ["2001:DB8:0:0::/32"], isManaged: false, wantedBy: [] },
    ]);
  });

  test("an entry that no rule declares any longer is reported with its last owner", () => {
    const inventory = { blocklist: [ownedBy("203.0.113.9", ["edge/gone"])] };
    const { coverings } = explain("203.0.113.9", { blocklist: ["203.0.113.9"], inventory });
    expect(coverings[0]?.formerOwners).toStrictEqual([{ kind: "WafIpRule", name: "edge/gone", source: undefined }]);
  });
});

describe("The outcome of an entry in the next plan", () => {
  const address = "203.0.113.9";
  const rules = [blocking("new", [address])];
  const left = { blocklist: [address], inventory: { blocklist: [ownedBy(address, ["edge/gone"])] } };
  const guards = { maxRemovals: 0 };
  const cases: Record<string, [Case, string]> = {
    "an addition": [{ rules: { rules } }, "Add: declared"],
    "a suspended instance": [
      { rules: { rules, instance: anInstance({ suspend: true }) } },
      "Off: spec.suspend is true",
    ],
    "a list without room": [
      { rules: { rules, instance: anInstance({ lists: { blocklist: { maxEntries: 1 } } }) }, blocklist: ["192.0.2.7"] },
      "NoRoom: the list has no room for it",
    ],
    "an entry that agrees": [{ ...left, rules: { rules: [blocking("gone", [address])] } }, "InSync: declared"],
    "an entry of others": [{ blocklist: [address] }, "Nothing: an entry of others"],
    "a removal": [
      left,
      "Remove: added by wafsync, and no rule declares it any longer; last declared by WafIpRule edge/gone",
    ],
    "a removal on hold": [{ ...left, rules: { instance: anInstance({ guards }) } }, "Held: too much would be removed"],
    "a list that was not read": [{ rules: { rules }, isUnread: true }, "unknown"],
  };
  test.each(Object.entries(cases))("of %s", (_name, [situation, expected]) => {
    const outcome = explain(address, situation).coverings[0]?.outcome;
    expect(outcome === undefined ? "unknown" : `${outcome.kind}: ${outcome.reason}`).toBe(expected);
  });
});

describe("Why an address is not blocked", () => {
  test("a rule whose entry was not added yet does not block", () => {
    const { verdict, coverings } = explain("203.0.113.9", { rules: { rules: [blocking("new", ["203.0.113.9"])] } });
    expect(verdict).toBe("NotBlocked");
    expect(coverings).toMatchObject([
      { isLive: false, isManaged: false, wantedBy: [{ sources: ["spec.addresses[0]"] }] },
    ]);
  });

  test("it counts as blocked if the list can't be read", () => {
    const rules = { rules: [blocking("new", ["203.0.113.9"])] };
    expect(explain("203.0.113.9", { rules, isUnread: true })).toMatchObject({
      verdict: "Blocked",
      coverings: [{ isLive: undefined }],
    });
  });

  test("a rule without effect is reported with the reason: expired, no access, an invalid line or a missing source", () => {
    const missing = {
      state: "Missing",
      source: mapSource("edge/x"),
      problem: "There is no ConfigMap edge/x.",
    } as const;
    const rules = [
      blocking("over", ["203.0.113.9"], { expiresAtMs: nowMs - 1000 }),
      blocking("elsewhere/guest", ["203.0.113.9"]),
      blocking("typo", ["192.0.2.1", "203.0.113.9/24"]),
      aRule("without", { texts: [missing] }),
    ];
    const instance = anInstance({ access: [] });
    const { verdict, ineffective } = explain("203.0.113.9", { rules: { rules, instance } });
    expect(verdict).toBe("NotBlocked");
    expect(ineffective.filter(({ isUnread }) => isUnread).map(({ rule }) => rule.meta.name)).toStrictEqual(["without"]);
    const told = ineffective.map(({ rule, sources, message }) => [rule.meta.name, sources[0], message]);
    expect(told).toHaveLength(4);
    expect(told).toContainEqual(["over", "spec.addresses[0]", "The rule has expired."]);
    expect(told).toContainEqual([
      "guest",
      undefined,
      expect.stringContaining("does not grant WafIpRule objects to namespace elsewhere"),
    ]);
    expect(told).toContainEqual(["typo", "spec.addresses[1]", expect.stringContaining("203.0.113.0/24")]);
    expect(told).toContainEqual(["without", undefined, "There is no ConfigMap edge/x."]);
  });

  test("an address that is left out is reported with the guard that rejects the entry, or with spec.except", () => {
    const rules = [blocking("wide", ["203.0.113.0/24"])];
    const reject = anInstance({ guards: { neverBlock: ["203.0.113.9"] } });
    const rejected = explain("203.0.113.9", { rules: { rules, instance: reject } });
    expect(rejected.ineffective[0]?.message).toContain("must stay reachable");
    const cutting = [blocking("wide", ["203.0.113.0/24"], { except: ["203.0.113.9"] })];
    const cut = explain("203.0.113.9", { rules: { rules: cutting } });
    expect(cut).toMatchObject({
      verdict: "NotBlocked",
      ineffective: [{ sources: ["spec.addresses[0]"], message: "spec.except of the rule leaves out 203.0.113.9." }],
    });
    const beside = explain("203.0.113.8", { rules: { rules: cutting }, blocklist: ["203.0.113.8"] });
    expect(beside).toMatchObject({ verdict: "Blocked", ineffective: [] });
    expect(beside.coverings[0]?.wantedBy[0]?.sources).toStrictEqual(["spec.addresses[0]"]);
  });

  test("a merged network is explained by the places of the entries that contain the address", () => {
    const rules = [blocking("hosts", ["203.0.113.8", "203.0.113.9", "198.51.100.1"], { aggregate: true })];
    const { verdict, coverings } = explain("203.0.113.9", { rules: { rules }, blocklist: ["203.0.113.8/31"] });
    expect(verdict).toBe("Blocked");
    expect(coverings).toMatchObject([
      { entry: "203.0.113.8/31", isLive: true, lines: 2, wantedBy: [{ sources: ["spec.addresses[1]"] }] },
    ]);
  });

  test("the allowlist takes precedence over the blocklist", () => {
    const rules = [blocking("wide", ["203.0.113.0/24"]), allowing("partner", ["203.0.113.9"])];
    const lists = { blocklist: ["203.0.113.0/24"], allowlist: ["203.0.113.9/32"] };
    expect(explain("203.0.113.9", { rules: { rules }, ...lists }).verdict).toBe("Allowed");
    expect(explain("203.0.113.8", { rules: { rules }, ...lists }).verdict).toBe("Blocked");
  });
});

describe("For any lists and rules", () => {
  const texts = fc.array(anyNetwork.chain(spelling), { maxLength: 12 });
  /** Uses the simulator, which shares no code with the tested function. */
  const rangeOf = (text: string): { readonly first: bigint; readonly last: bigint; readonly family: 4 | 6 } => {
    const network = parseNetwork(text);
    if (network === undefined) throw new Error(`the simulator does not read ${text}`);
    const { family, maskedValue, prefixLength } = network;
    return { family, first: maskedValue, last: maskedValue + (1n << BigInt(addressBits(family) - prefixLength)) - 1n };
  };
  const shownBy = (texts: readonly string[], mode: (typeof spellingModes)[number]): readonly string[] => {
    const list = new SimulatedList();
    for (const text of texts) list.add(text);
    return list.shown(mode);
  };

  test("the verdict agrees with the simulator's lists", () => {
    fc.assert(
      fc.property(
        texts,
        texts,
        anyNetwork.chain(spelling),
        fc.constantFrom(...spellingModes),
        (blocked, allowed, asked, mode) => {
          const blocklist = shownBy(blocked, mode);
          const allowlist = shownBy(allowed, mode);
          const wanted = rangeOf(asked);
          const isCovered = (list: readonly string[]): boolean =>
            list.map(rangeOf).some(({ first, last, family }) => {
              return family === wanted.family && first <= wanted.first && wanted.last <= last;
            });
          const unlisted = isCovered(blocklist) ? "Blocked" : "NotBlocked";
          expect(explain(asked, { blocklist, allowlist }).verdict).toBe(isCovered(allowlist) ? "Allowed" : unlisted);
        },
      ),
      { numRuns: caseCount(5_000) },
    );
  });

  test("the rules that declare an entry are the same as in a run over all declarations", () => {
    const few = fc.subarray(
      ["198.18.0.0/15", "198.18.1.0/24", "198.18.1.1", "198.18.1.1/32", "198.18.1.1/24", "nonsense", "2001:DB8::/32"],
      { maxLength: 4 },
    );
    const rule = fc.record({
      action: fc.constantFrom("Block" as const, "Allow" as const),
      addresses: few,
      text: few,
      isOver: fc.constantFrom(false, false, true),
    });
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 4 }),
        fc.constantFrom("198.18.1.1", "198.18.1.2", "198.18.9.9", "2001:db8::1"),
        fc.subarray(["198.18.1.1", "198.18.7.7/32"], { maxLength: 1 }),
        fc.boolean(),
        (drafts, asked, left, aggregate) => {
          const rules = drafts.map(({ action, addresses: own, text, isOver }, index) =>
            aRule(`rule-${index}`, {
              action,
              addresses: own,
              texts: [text.join("\n# and\n")],
              expiresAtMs: isOver ? nowMs - 1 : undefined,
              meta: { createdAtMs: createdMs - index },
              except: index % 2 === 0 ? left : [],
              aggregate: aggregate && index < 2,
            }),
          );
          const instance = anInstance({ guards: { neverBlock: left, specialPurpose: "Allow" } });
          const all = gathered({ rules, instance });
          const desired = compileDesired(all, nowMs);
          const { coverings } = explain(asked, { rules: all, isUnread: true });
          const index = (one: Entry): boolean => new NetworkIndex([one]).containing(entry(asked)) !== undefined;
          const expected = listNames.flatMap((list) =>
            [...desired.lists[list]].flatMap(([one, { rules: by }]) =>
              index(one) ? [`${list} ${one} ${by.map(({ id }) => id).join(",")}`] : [],
            ),
          );
          const found = coverings.map(({ list, entry: one, wantedBy }) => {
            return `${list} ${one} ${wantedBy.map(({ rule: { meta } }) => `${meta.namespace}/${meta.name}`).join(",")}`;
          });
          expect(found.toSorted()).toStrictEqual(expected.toSorted());
        },
      ),
      { numRuns: caseCount(5_000) },
    );
  });
});

test("to look an address up among a hundred thousand entries takes less than 200 ms of CPU", () => {
  const many = addresses(50_000);
  const six = many.map((_, index) => `2001:db8:${(index >> 8).toString(16)}:${(index & 255).toString(16)}::/64`);
  const rules = [blocking("big", many), aRule("text", { texts: [six.join("\n")] })];
  // Half of them are IPv6, and all of them are also on the list.
  const live = { blocklist: [...many, ...six], allowlist: [] };
  const examined = finished(
    examineInSlices({ gathered: gathered({ rules }), live, inventory: anInventory({}), nowMs }),
  );
  for (const asked of ["198.18.1.1", "2001:db8:1:1::1"]) {
    // The fastest of a few runs, because other programs share the processor and its caches.
    const tookMs = Array.from({ length: 4 }, () => {
      const before = process.cpuUsage();
      expect(explainAddress(entry(asked), examined).verdict).toBe("Blocked");
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    });
    expect(Math.min(...tookMs)).toBeLessThan(200);
  }
});
