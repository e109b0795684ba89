import { spawnSync } from "node:child_process";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { Compaction } from "../../../src/model/declared.ts";
import type { Entry } from "../../../src/model/entry.ts";
import { rangeOf, covers as isInside } from "../../../src/model/address-range.ts";
import { compactEntries } from "../../../src/plan/lists/compact-entries.ts";
import type { Covers, Terms } from "../../../src/plan/lists/compact-entries.ts";
import { caseCount } from "../../support/builders/case-count.ts";
import { readSharedList } from "../../support/builders/shared-lists.ts";

const widest = { ipv4: 8, ipv6: 16 };

interface Case {
  readonly mode?: Compaction;
  readonly entries: readonly string[];
  readonly others?: readonly string[];
  readonly ends?: Readonly<Record<string, number>>;
  readonly priorities?: Readonly<Record<string, number>>;
  readonly widest?: { readonly ipv4: number; readonly ipv6: number };
}

function coversOf({ mode = "Covered", entries, others = [], ends, priorities, ...rest }: Case): Covers {
  const known = new Map<string, Terms>();
  const termsOf = (entry: Entry): Terms => {
    const terms = { endsAtMs: ends?.[entry] ?? Number.POSITIVE_INFINITY, priority: priorities?.[entry] ?? 0 };
    const key = JSON.stringify([String(terms.endsAtMs), terms.priority]);
    known.set(key, known.get(key) ?? terms);
    return known.get(key) ?? terms;
  };
  return compactEntries({
    mode,
    entries: entries as readonly Entry[],
    others: others as readonly Entry[],
    termsOf: ends === undefined && priorities === undefined ? undefined : termsOf,
    widest,
    ...rest,
  });
}

/** The sent entries: those that are not covered, and the merged ones. */
function sentOf(entries: Iterable<string>, covers: Covers): readonly string[] {
  const kept = [...entries].filter((entry) => !covers.has(entry as Entry));
  return [...new Set([...kept, ...covers.values()])].toSorted();
}

function sent(given: Case): readonly string[] {
  return sentOf(given.entries, coversOf(given));
}

describe("With Covered,", () => {
  test("an entry inside a wider one is not sent", () => {
    const entries = ["203.0.113.7", "203.0.113.0/24", "203.0.112.9", "203.0.113.128/25"];
    expect(coversOf({ entries })).toStrictEqual(
      new Map([
        ["203.0.113.7", "203.0.113.0/24"],
        ["203.0.113.128/25", "203.0.113.0/24"],
      ]),
    );
  });

  test("adjacent networks are not merged", () => {
    const entries = ["203.0.113.6", "203.0.113.7"];
    expect(sent({ entries })).toStrictEqual(entries);
  });

  test("IPv6 and IPv4 never cover each other", () => {
    const entries = ["0.0.0.0/8", "2001:db8::1", "2001:db8::/32", "10.0.0.1"];
    expect(sent({ entries })).toStrictEqual(["0.0.0.0/8", "10.0.0.1", "2001:db8::/32"]);
  });

  test("an entry that lasts longer than the wider one is sent", () => {
    const entries = ["203.0.113.0/24", "203.0.113.7", "203.0.113.8"];
    expect(sent({ entries, ends: { "203.0.113.0/24": 5, "203.0.113.8": 5 } })).toStrictEqual([
      "203.0.113.0/24",
      "203.0.113.7",
    ]);
  });

  test("an entry inside a shorter-lived network is covered by the wider one that lasts as long", () => {
    const entries = ["203.0.0.0/16", "203.0.113.0/24", "203.0.113.7"];
    const covers = coversOf({ entries, ends: { "203.0.113.0/24": 5 } });
    expect(covers.get("203.0.113.7" as Entry)).toBe("203.0.0.0/16");
  });

  test("an urgent entry is sent, unless the wider one is as urgent", () => {
    const entries = ["203.0.113.0/24", "203.0.113.7", "203.0.113.8"];
    expect(sent({ entries, priorities: { "203.0.113.7": 5 } })).toStrictEqual(["203.0.113.0/24", "203.0.113.7"]);
    expect(sent({ entries, priorities: { "203.0.113.0/24": 5, "203.0.113.7": 5 } })).toStrictEqual(["203.0.113.0/24"]);
  });

  test("an entry inside an entry of the other list that is narrower than the cover is sent", () => {
    const entries = ["203.0.113.0/24", "203.0.113.7", "203.0.113.200"];
    expect(sent({ entries, others: ["203.0.113.0/25"] })).toStrictEqual(["203.0.113.0/24", "203.0.113.7"]);
    expect(sent({ entries, others: ["203.0.112.0/23"] })).toStrictEqual(["203.0.113.0/24"]);
  });

  test("opaque entries are ignored", () => {
    expect(sent({ entries: ["?nonsense", "203.0.113.0/24"] })).toStrictEqual(["203.0.113.0/24", "?nonsense"]);
  });
});

describe("With Exact,", () => {
  test("the halves of a network are sent as that network, and so are the halves of the result", () => {
    const entries = ["203.0.113.4", "203.0.113.5", "203.0.113.6/31", "203.0.113.0", "203.0.113.1"];
    expect(sent({ mode: "Exact", entries })).toStrictEqual(["203.0.113.0/31", "203.0.113.4/30"]);
    expect(sent({ mode: "Exact", entries: ["2001:db8::/33", "2001:db8:8000::/33"] })).toStrictEqual(["2001:db8::/32"]);
  });

  test("two adjacent networks that are not the halves of one network are not merged", () => {
    const entries = ["203.0.113.5", "203.0.113.6"];
    expect(sent({ mode: "Exact", entries })).toStrictEqual(entries);
  });

  test("an urgent entry is merged only with one that is as urgent", () => {
    const entries = ["203.0.113.4", "203.0.113.5", "203.0.113.6", "203.0.113.7"];
    const priorities = { "203.0.113.5": 5, "203.0.113.6": 5, "203.0.113.7": 5 };
    expect(sent({ mode: "Exact", entries, priorities })).toStrictEqual([
      "203.0.113.4",
      "203.0.113.5",
      "203.0.113.6/31",
    ]);
  });

  test("entries that end at different times are not merged", () => {
    const entries = ["203.0.113.4", "203.0.113.5", "203.0.113.6", "203.0.113.7"];
    const ends = { "203.0.113.5": 5, "203.0.113.6": 5, "203.0.113.7": 5 };
    expect(sent({ mode: "Exact", entries, ends })).toStrictEqual(["203.0.113.4", "203.0.113.5", "203.0.113.6/31"]);
  });

  test("nothing is merged into an entry of the other list", () => {
    const entries = ["203.0.113.4", "203.0.113.5", "203.0.113.6", "203.0.113.7"];
    expect(sent({ mode: "Exact", entries, others: ["203.0.113.4/30"] })).toStrictEqual([
      "203.0.113.4/31",
      "203.0.113.6/31",
    ]);
  });

  test("an entry of both lists is neither merged nor relied on", () => {
    const entries = ["203.0.113.4/30", "203.0.113.4/31", "203.0.113.4", "203.0.113.5"];
    const both = ["203.0.113.4", "203.0.113.5"];
    expect(sent({ mode: "Exact", entries, others: both })).toStrictEqual([...both, "203.0.113.4/30"].toSorted());
  });

  test("no merged network is wider than the limit", () => {
    const entries = ["203.0.112.0/24", "203.0.113.0/24"];
    expect(sent({ mode: "Exact", entries, widest: { ipv4: 24, ipv6: 48 } })).toStrictEqual(entries);
    expect(sent({ mode: "Exact", entries, widest: { ipv4: 23, ipv6: 48 } })).toStrictEqual(["203.0.112.0/23"]);
  });
});

test("With None, every entry is sent", () => {
  const entries = ["203.0.113.0/24", "203.0.113.7"];
  expect(sent({ mode: "None", entries })).toStrictEqual(["203.0.113.0/24", "203.0.113.7"]);
});

/** Networks within 16 addresses, so that they overlap: all lengths from /28 to /32. */
const network4 = fc
  .record({ length: fc.integer({ min: 28, max: 32 }), place: fc.nat(15) })
  .map(({ length, place }) => textOf("203.0.113.", place & ~(2 ** (32 - length) - 1), length, 32));
const network6 = fc
  .record({ length: fc.integer({ min: 124, max: 128 }), place: fc.nat(15) })
  .map(({ length, place }) => textOf("2001:db8::ff:f", place & ~(2 ** (128 - length) - 1), length, 128));

function textOf(start: string, place: number, length: number, lengthMax: number): Entry {
  const last = lengthMax === 128 ? place.toString(16) : String(place);
  return `${start}${last}${length === lengthMax ? "" : `/${length}`}` as Entry;
}

const network = fc.oneof(network4, network6);
const cases = fc.record({
  mode: fc.constantFrom<Compaction>("Covered", "Exact", "Exact"),
  entries: fc.uniqueArray(network, { maxLength: 24 }),
  others: fc.uniqueArray(network, { maxLength: 3 }),
  endTimes: fc.array(fc.constantFrom(1, 2, Number.POSITIVE_INFINITY), { minLength: 24, maxLength: 24 }),
  hasEnds: fc.boolean(),
});

function singleAddresses(entries: Iterable<string>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const entry of entries) {
    const isIpv6 = entry.includes(":");
    const [address = "", length = isIpv6 ? "128" : "32"] = entry.split("/");
    const digit = Number.parseInt(
      isIpv6 ? address.slice(-1) : address.slice(address.lastIndexOf(".") + 1),
      isIpv6 ? 16 : 10,
    );
    const count = 2 ** ((isIpv6 ? 128 : 32) - Number(length));
    for (let place = digit; place < digit + count; place += 1) found.add(`${isIpv6 ? "6" : "4"} ${place}`);
  }
  return found;
}

function contains(outer: Entry, inner: Entry): boolean {
  const [a, b] = [rangeOf(outer), rangeOf(inner)];
  return a !== undefined && b !== undefined && isInside(a, b);
}

describe("Whatever is declared,", () => {
  test("exactly the declared addresses are covered, now and after each expiry", () => {
    fc.assert(
      fc.property(cases, ({ mode, entries, others, endTimes, hasEnds }) => {
        const ends = Object.fromEntries(entries.map((entry, index) => [entry, endTimes[index] ?? 1]));
        const covers = coversOf({ mode, entries, others, ...(hasEnds ? { ends } : {}) });
        const endOf = (entry: Entry): number => (hasEnds ? (ends[entry] ?? 0) : 1);
        expect(singleAddresses(sentOf(entries, covers))).toStrictEqual(singleAddresses(entries));
        for (const [entry, cover] of covers) {
          // The complete cover is declared for as long as the entry: by itself, or by the entries merged into it.
          const parts = entries.filter((other) => other === cover || covers.get(other) === cover);
          const lasting = parts.filter((part) => endOf(part) >= endOf(entry));
          expect(singleAddresses(lasting)).toStrictEqual(singleAddresses([cover]));
        }
      }),
      { numRuns: caseCount(20_000) },
    );
  });

  test("an entry relies on one sent entry that contains it, with no entry of the other list between them", () => {
    fc.assert(
      fc.property(cases, ({ mode, entries, others }) => {
        const covers = coversOf({ mode, entries, others });
        for (const [entry, cover] of covers) {
          expect(contains(cover, entry)).toBe(true);
          expect(cover).not.toBe(entry);
          expect(covers.has(cover)).toBe(false);
          for (const other of others) {
            const isBetween = contains(cover, other) && contains(other, entry) && !entries.includes(other);
            expect(isBetween).toBe(false);
          }
        }
      }),
      { numRuns: caseCount(20_000) },
    );
  });

  test("no two entries that are sent with Exact could be merged, and their order does not matter", () => {
    fc.assert(
      fc.property(cases, ({ entries }) => {
        const all = sent({ mode: "Exact", entries });
        expect(sent({ mode: "Exact", entries: entries.toReversed() })).toStrictEqual(all);
        expect(sent({ mode: "Exact", entries: all })).toStrictEqual(all);
      }),
      { numRuns: caseCount(5_000) },
    );
  });
});

test("120,000 addresses and networks are compacted in less than a second of CPU on a busy machine", () => {
  // Spread over the address space by a multiplier, so that they are not in order; every tenth is a network.
  const entries = Array.from({ length: 120_000 }, (_, index) => {
    const bits = Math.imul(index + 1, 0x9e3779b1) >>> 0;
    const octets = [bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, index % 10 === 0 ? 0 : bits & 255];
    return `${octets.join(".")}${index % 10 === 0 ? "/24" : ""}`;
  });
  for (const mode of ["Covered", "Exact"] as const) {
    // The fastest of a few runs, because other programs share the processor and its caches.
    const tookMs = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage();
      coversOf({ mode, entries });
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    });
    expect(Math.min(...tookMs)).toBeLessThan(1_000);
  }
});

const python = spawnSync("python3", ["-c", "import ipaddress"]);
const hasPython = python.error === undefined && python.status === 0;

test("Exact sends the same networks as Python's ipaddress.collapse_addresses", () => {
  if (!hasPython) {
    process.stderr.write("SKIPPED: python3 is missing, so Exact was not compared with Python's ipaddress.\n");
    return;
  }
  const lists = fc.sample(fc.uniqueArray(fc.oneof(network, wideNetwork()), { maxLength: 200 }), {
    numRuns: 200,
    seed: 20_261_122,
  });
  const program = [
    "import ipaddress, json, sys",
    "def text(n): return str(n.network_address) if n.num_addresses == 1 else str(n)",
    "def collapse(entries):",
    "    found = [ipaddress.ip_network(entry) for entry in entries]",
    "    return [text(n) for v in (4, 6) for n in ipaddress.collapse_addresses([f for f in found if f.version == v])]",
    "json.dump([sorted(collapse(entries)) for entries in json.load(sys.stdin)], sys.stdout)",
  ].join("\n");
  const answer = spawnSync("python3", ["-c", program], { input: JSON.stringify(lists), encoding: "utf8" });
  expect(answer.stderr).toBe("");
  const limitless = { ipv4: 0, ipv6: 0 };
  const ours = lists.map((entries) => sent({ mode: "Exact", entries, widest: limitless }));
  expect(ours).toStrictEqual(JSON.parse(answer.stdout));
});

/** Networks of any length anywhere. */
function wideNetwork(): fc.Arbitrary<Entry> {
  const octet = fc.constantFrom(0, 1, 127, 128, 254, 255);
  return fc.tuple(octet, octet, octet, octet, fc.integer({ min: 1, max: 32 })).map(([a, b, c, d, length]) => {
    const bits = ((a * 256 + b) * 256 + c) * 256 + d;
    const first = bits - (bits % 2 ** (32 - length));
    const octets = [first / 2 ** 24, first / 2 ** 16, first / 2 ** 8, first].map((part) => Math.floor(part) % 256);
    return `${octets.join(".")}${length === 32 ? "" : `/${length}`}` as Entry;
  });
}

test("IPsum's list of level 3 needs at most 11,804 calls with Exact", async () => {
  const text = await readSharedList("ipsum-level-3.txt");
  if (text === undefined) return;
  const entries = text
    .toString()
    .split("\n")
    .flatMap((line) => (/^\d/.test(line) ? (line.split(/\s/)[0] ?? []) : []));
  expect(entries.length).toBeGreaterThanOrEqual(14_217);
  expect(sent({ mode: "Exact", entries }).length).toBeLessThanOrEqual(11_804);
});
