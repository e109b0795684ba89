import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import {
  aggregate,
  NetworkIndex,
  uncoveredBy,
  narrowestContainers,
  networksAround,
  without,
} from "../../src/address/ranges.ts";
import { type Entry, networkOf, readObservedEntry } from "../../src/address/entry.ts";
import { anyNetwork, ipv4Network, ipv6Network, written, type WrittenNetwork } from "../support/builders/arbitraries.ts";
import { caseCount } from "../support/builders/case-count.ts";

/** More than any test here needs. */
const enough = 100_000;

function entry(text: string): Entry {
  return readObservedEntry(text);
}

function rest(text: string, ...cut: readonly string[]): readonly Entry[] | undefined {
  return without(entry(text), cut.map(entry), enough);
}

describe("Taking networks out of an entry", () => {
  test("leaves the other halves on the way to a single address", () => {
    expect(rest("192.0.2.0/29", "192.0.2.5")).toStrictEqual(["192.0.2.0/30", "192.0.2.4", "192.0.2.6/31"]);
  });

  test("fails if and only if there are more parts than allowed", () => {
    const one = [entry("2001:db8::1")];
    expect(without(entry("2001:db8::/64"), one, 64)).toHaveLength(64);
    expect(without(entry("2001:db8::/64"), one, 63)).toBeUndefined();
    const everySecond = Array.from({ length: 512 }, (_, index) => entry(`198.18.${index >> 7}.${(index * 2) & 255}`));
    expect(without(entry("198.18.0.0/22"), everySecond, 512)).toHaveLength(512);
    expect(without(entry("198.18.0.0/22"), everySecond, 256)).toBeUndefined();
  });
});

/** First and last address as numbers, computed independently of the tested code. */
function boundsOf({ family, parts, prefixLength }: WrittenNetwork): readonly [bigint, bigint] {
  const bits = family === "ipv4" ? 8n : 16n;
  const first = parts.reduce((value, part) => (value << bits) | BigInt(part), 0n);
  return [first, first + (1n << BigInt((family === "ipv4" ? 32 : 128) - prefixLength)) - 1n];
}

/** For a canonical string. */
function boundsOfEntry(text: string): readonly [bigint, bigint] {
  const [address = "", length] = text.split("/");
  const isIpv4 = !address.includes(":");
  const [before = [], after = []] = address.split("::").map((side) => (side === "" ? [] : side.split(":")));
  const zeros = Array<string>(isIpv4 ? 0 : 8 - before.length - after.length).fill("0");
  const parts = isIpv4
    ? address.split(".").map(Number)
    : [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
  const prefixLength = Number(length ?? (isIpv4 ? 32 : 128));
  return boundsOf({ family: isIpv4 ? "ipv4" : "ipv6", parts, prefixLength });
}

type Bounds = readonly [bigint, bigint];

/** Ranges in order; overlapping and adjacent ones are joined. */
function joined(ranges: readonly Bounds[]): Bounds[] {
  const result: Bounds[] = [];
  for (const [first, last] of ranges.toSorted((a, b) => Number(a[0] > b[0]) - Number(a[0] < b[0]))) {
    const before = result.at(-1);
    if (before === undefined || first > before[1] + 1n) result.push([first, last]);
    else result[result.length - 1] = [before[0], last > before[1] ? last : before[1]];
  }
  return result;
}

/** The rest of a range without others, found by walking along it. */
function restOf([start, end]: Bounds, cut: readonly Bounds[]): Bounds[] {
  const result: Bounds[] = [];
  let next = start;
  for (const [first, last] of joined(cut)) {
    if (first > end || last < next) continue;
    if (first > next) result.push([next, first - 1n]);
    next = last + 1n;
  }
  return next > end ? result : [...result, [next, end]];
}

/** Networks inside one network that together cover nearly all of it. */
function networksInside({ family, parts, prefixLength }: WrittenNetwork): fc.Arbitrary<WrittenNetwork> {
  const bits = family === "ipv4" ? 8 : 16;
  const max = family === "ipv4" ? 32 : 128;
  const text = parts.map((part) => part.toString(2).padStart(bits, "0")).join("");
  const narrower = fc.oneof(fc.integer({ min: prefixLength, max }), fc.constant(max));
  return fc.tuple(fc.bigInt({ min: 0n, max: (1n << BigInt(max)) - 1n }), narrower).map(([random, length]) => {
    const tail = random.toString(2).padStart(max, "0").slice(prefixLength);
    const whole = `${text.slice(0, prefixLength)}${tail}`.slice(0, length).padEnd(max, "0");
    const groups = whole.match(new RegExp(`.{${bits}}`, "g")) ?? [];
    return { family, parts: groups.map((group) => Number.parseInt(group, 2)), prefixLength: length };
  });
}

const casesOf = (networks: fc.Arbitrary<WrittenNetwork>) =>
  networks.chain((network) =>
    fc.tuple(
      fc.constant(network),
      fc.array(fc.oneof({ weight: 8, arbitrary: networksInside(network) }, networks), { maxLength: 12 }),
    ),
  );

test.each([
  ["IPv4", ipv4Network],
  ["IPv6", ipv6Network],
] as const)(
  "The rest of a network of %s without others has exactly the other addresses, as the fewest networks",
  (_family, networks) => {
    fc.assert(
      fc.property(casesOf(networks), ([network, cut]) => {
        const pieces = rest(written(network), ...cut.map(written)) ?? [];
        const ranges = pieces.map(boundsOfEntry);
        expect(joined(ranges)).toStrictEqual(restOf(boundsOf(network), cut.map(boundsOf)));
        // Each address once, in order: joining would hide overlapping pieces.
        for (const [index, [first]] of ranges.entries()) {
          const before = ranges[index - 1];
          if (before !== undefined) expect(first > before[1]).toBe(true);
        }
        expectFewest(ranges);
      }),
      { numRuns: caseCount(1_000) },
    );
  },
);

/** No two networks in order are the halves of one. */
function expectFewest(ranges: readonly Bounds[]): void {
  for (const [index, [first, last]] of ranges.entries()) {
    const before = ranges[index - 1];
    const size = last - first + 1n;
    const isPair = before !== undefined && before[1] + 1n === first && before[1] - before[0] + 1n === size;
    if (isPair) expect(before[0] % (2n * size)).not.toBe(0n);
  }
}

describe("Aggregated entries", () => {
  test("are the fewest networks, with the number of entries that each stands for", () => {
    const texts = ["192.0.2.7", "192.0.2.4/31", "192.0.2.6", "192.0.2.4", "2001:db8::1", "2001:db8::"];
    const { entries, lines } = aggregate(texts.map(entry));
    expect(entries).toStrictEqual(["192.0.2.4/30", "2001:db8::/127"]);
    expect([...lines]).toStrictEqual([
      ["192.0.2.4/30", 4],
      ["2001:db8::/127", 2],
    ]);
  });

  test("are no wider than allowed, unless they are declared wider", () => {
    const texts = ["198.18.0.0/17", "198.18.128.0/17", "203.0.113.0/25", "203.0.113.128/25", "203.0.113.7"];
    expect(aggregate(texts.map(entry), { ipv4: 24, ipv6: 64 }).entries).toStrictEqual([
      "198.18.0.0/17",
      "198.18.128.0/17",
      "203.0.113.0/24",
    ]);
  });

  test.each([
    ["IPv4", ipv4Network],
    ["IPv6", ipv6Network],
  ] as const)("of %s have exactly the same addresses, as the fewest networks", (_family, networks) => {
    fc.assert(
      fc.property(casesOf(networks), ([network, inside]) => {
        // Neighbors of a network, so that there is something to merge.
        const given = [
          ...inside,
          ...inside.flatMap((one) => (one.prefixLength === 0 ? [] : [siblingOf(one)])),
          network,
        ];
        const texts = fc.sample(fc.shuffledSubarray(given), { numRuns: 1, seed: given.length })[0]!.map(written);
        const { entries, lines } = aggregate(new Set(texts.map(entry)));
        const ranges = entries.map(boundsOfEntry);
        expect(joined(ranges)).toStrictEqual(joined(texts.map(entry).map(boundsOfEntry)));
        expect(new Set(joined(ranges).map(String)).size).toBeLessThanOrEqual(entries.length);
        expectFewest(ranges);
        const counted = entries.reduce((sum, one) => sum + (lines.get(one) ?? 1), 0);
        expect(counted).toBe(new Set(texts.map(entry)).size);
      }),
      { numRuns: caseCount(1_000) },
    );
  });
});

function siblingOf({ family, parts, prefixLength }: WrittenNetwork): WrittenNetwork {
  const bits = family === "ipv4" ? 8 : 16;
  const place = Math.floor((prefixLength - 1) / bits);
  const bit = 1 << (bits - 1 - ((prefixLength - 1) % bits));
  return { family, parts: parts.map((part, index) => (index === place ? part ^ bit : part)), prefixLength };
}

test("An entry has as many addresses left as no network inside it has", () => {
  const uncovered = (text: string, ...covering: string[]) =>
    uncoveredBy(entry(text), new NetworkIndex(covering.map(entry)));
  expect(uncovered("192.0.2.0/24", "192.0.2.0/25", "192.0.2.128")).toStrictEqual(["192.0.2.0/25", 127n]);
  expect(uncovered("2001:db8::/32", "2001:db8::/33", "2001:db8:8000::/33")).toStrictEqual(["2001:db8::/33", 0n]);
  expect(uncovered("192.0.2.1", "192.0.2.0/24")).toStrictEqual(["192.0.2.0/24", 0n]);
});

test("The networks around an entry are all wider ones, narrowest first", () => {
  expect(networksAround(entry("192.0.2.6/31")).slice(0, 3)).toStrictEqual([
    "192.0.2.4/30",
    "192.0.2.0/29",
    "192.0.2.0/28",
  ]);
  expect(networksAround(entry("2001:db8::1"))).toHaveLength(128);
});

function contains(outer: Entry, inner: Entry): boolean {
  const [[first, last], [innerFirst, innerLast]] = [boundsOfEntry(outer), boundsOfEntry(inner)];
  return networkOf(outer).family === networkOf(inner).family && first <= innerFirst && innerLast <= last;
}

function overlap(a: Entry, b: Entry): boolean {
  return contains(a, b) || contains(b, a);
}

describe("an index of networks", () => {
  test("returns the widest of several", () => {
    const index = new NetworkIndex(["10.1.0.0/16", "10.0.0.0/8", "10.1.1.0/24"].map(entry));
    expect(index.containing("10.1.1.1" as Entry)).toBe("10.0.0.0/8");
  });

  test("ignores opaque entries in the index and in queries", () => {
    const index = new NetworkIndex(["office", "0.0.0.0/0"].map(entry));
    expect(index.overlaps("?office" as Entry)).toBeUndefined();
    expect(index.containing("?office" as Entry)).toBeUndefined();
    expect(index.containing("192.0.2.1" as Entry)).toBe("0.0.0.0/0");
  });

  test("lists the networks inside an entry in order, only the widest of nested ones, and none that contains it", () => {
    const index = new NetworkIndex(
      ["192.0.2.7", "192.0.2.128/25", "192.0.2.129", "192.0.3.0/24", "2001:db8::/32"].map(entry),
    );
    expect(index.inside("192.0.2.0/24" as Entry)).toStrictEqual(["192.0.2.7", "192.0.2.128/25"]);
    expect(index.inside("192.0.2.0/23" as Entry)).toStrictEqual(["192.0.2.7", "192.0.2.128/25", "192.0.3.0/24"]);
    expect(index.inside("192.0.2.129" as Entry)).toStrictEqual([]);
    expect(index.inside("2001:db8::/32" as Entry)).toStrictEqual(["2001:db8::/32"]);
    expect(index.inside("?office" as Entry)).toStrictEqual([]);
  });

  test("returns the first of several that an entry overlaps", () => {
    const index = new NetworkIndex(["198.51.100.0/24", "192.0.2.0/24", "203.0.113.0/24"].map(entry));
    expect(index.overlaps("192.0.0.0/4" as Entry)).toBe("192.0.2.0/24");
  });

  test("agrees with a search through all networks", () => {
    const family = fc.constantFrom(ipv4Network, ipv6Network, anyNetwork);
    const drawn = family.chain((network) => fc.tuple(fc.array(network, { maxLength: 40 }), network));
    fc.assert(
      fc.property(drawn, ([networks, asked]) => {
        const indexed = networks.map((network) => readObservedEntry(written(network)));
        const entry = readObservedEntry(written(asked));
        const index = new NetworkIndex(indexed);

        const overlapping = index.overlaps(entry);
        expect(overlapping !== undefined).toBe(indexed.some((other) => overlap(other, entry)));
        if (overlapping !== undefined) expect(indexed.includes(overlapping) && overlap(overlapping, entry)).toBe(true);

        const containing = index.containing(entry);
        expect(containing !== undefined).toBe(indexed.some((other) => contains(other, entry)));
        if (containing !== undefined) expect(indexed.includes(containing) && contains(containing, entry)).toBe(true);

        const inside = new Set(indexed.filter((other) => contains(entry, other)));
        const widest = [...inside].filter((one) => ![...inside].some((other) => other !== one && contains(other, one)));
        const isAround = containing !== undefined && containing !== entry;
        expect(new Set(index.inside(entry))).toStrictEqual(new Set(isAround ? [] : widest));
      }),
      { numRuns: 500 },
    );
  });

  test("indexes 100,000 networks and answers 100,000 queries without a search through all of them", () => {
    const many = Array.from({ length: 100_000 }, (_, position) => {
      const text =
        position % 2 === 0
          ? `10.${position >> 16}.${(position >> 8) & 255}.${position & 255}`
          : `2001:db8:${(position & 255).toString(16)}:${(position >> 8).toString(16)}::/64`;
      return readObservedEntry(text);
    });
    const before = process.cpuUsage();
    const index = new NetworkIndex(many);
    expect(many.every((entry) => index.containing(entry) === entry)).toBe(true);
    // A search through all networks for each query would take minutes. Measures processor time: the machine may have other work.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(20_000);
  });
});

describe("the narrowest containers", () => {
  test("are the next wider ones of the same entries", () => {
    const found = narrowestContainers(
      [
        "10.1.2.3",
        "10.0.0.0/8",
        "10.1.0.0/16",
        "10.2.0.0/16",
        "11.0.0.1",
        "2001:db8::/32",
        "2001:db8::1",
        "office",
      ].map(entry),
    );
    expect(Object.fromEntries(found)).toStrictEqual({
      "10.1.0.0/16": "10.0.0.0/8",
      "10.2.0.0/16": "10.0.0.0/8",
      "10.1.2.3": "10.1.0.0/16",
      "2001:db8::1": "2001:db8::/32",
    });
  });

  test("equal the result of a search through all entries", () => {
    fc.assert(
      fc.property(fc.array(anyNetwork, { maxLength: 20 }), (networks) => {
        const all = [...new Set(networks.map((network) => readObservedEntry(written(network))))];
        const found = narrowestContainers(all);
        for (const entry of all) {
          const wider = all.filter((other) => other !== entry && contains(other, entry));
          // Networks that contain one address are nested, so the narrowest of them is inside all others.
          const narrowest = wider.find((one) => wider.every((other) => contains(other, one)));
          expect(found.get(entry)).toBe(narrowest);
        }
      }),
      { numRuns: 500 },
    );
  });
});
