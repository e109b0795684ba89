import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { aggregate, countWithout, networksAround, without } from "../../src/address/ranges.ts";
import { type Entry, readObservedEntry } from "../../src/address/entry.ts";
import type { WrittenNetwork } from "../support/builders/arbitraries.ts";
import { ipv4Network, ipv6Network, written } from "../support/builders/arbitraries.ts";
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

  test("leaves the networks between several, in any order, and keeps adjacent ones whole", () => {
    expect(rest("198.51.100.0/24", "198.51.100.192/26", "198.51.100.0/26")).toStrictEqual([
      "198.51.100.64/26",
      "198.51.100.128/26",
    ]);
    expect(rest("198.51.100.0/24", "198.51.100.128/25")).toStrictEqual(["198.51.100.0/25"]);
  });

  test("works on IPv6 across the borders of the groups", () => {
    expect(rest("2001:db8::/30", "2001:db8::/33")).toStrictEqual([
      "2001:db8:8000::/33",
      "2001:db9::/32",
      "2001:dba::/31",
    ]);
    expect(rest("2001:db8::/126", "2001:db8::3")).toStrictEqual(["2001:db8::/127", "2001:db8::2"]);
    expect(rest("::/0", "::1")).toHaveLength(128);
  });

  test("leaves the entry unchanged if no part is cut out, and nothing if all of it is", () => {
    expect(rest("192.0.2.0/24", "198.51.100.0/24", "2001:db8::/32")).toStrictEqual(["192.0.2.0/24"]);
    expect(rest("192.0.2.0/24", "192.0.0.0/16")).toStrictEqual([]);
    expect(rest("192.0.2.1", "192.0.2.1")).toStrictEqual([]);
    expect(rest("192.0.2.0/24", "192.0.2.0/25", "192.0.2.128/25")).toStrictEqual([]);
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

describe("The rest of a network without others", () => {
  test.each([
    ["IPv4", ipv4Network],
    ["IPv6", ipv6Network],
  ] as const)("of %s has exactly the other addresses, as the fewest networks", (_family, networks) => {
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
  });
});

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

  test("of a long list of addresses are found in well under a second", () => {
    const many = Array.from({ length: 100_000 }, (_, index) => {
      const number = (index * 7_919) % 131_072;
      return entry(`198.${18 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`);
    });
    const before = process.cpuUsage();
    const { entries } = aggregate(many);
    const { user } = process.cpuUsage(before);
    expect(entries.length).toBeLessThan(many.length);
    expect(user / 1_000).toBeLessThan(1_000);
  });
});

function siblingOf({ family, parts, prefixLength }: WrittenNetwork): WrittenNetwork {
  const bits = family === "ipv4" ? 8 : 16;
  const place = Math.floor((prefixLength - 1) / bits);
  const bit = 1 << (bits - 1 - ((prefixLength - 1) % bits));
  return { family, parts: parts.map((part, index) => (index === place ? part ^ bit : part)), prefixLength };
}

test("An entry has as many addresses left as no network inside it has", () => {
  expect(countWithout(entry("192.0.2.0/24"), ["192.0.2.0/25", "192.0.2.128"].map(entry))).toBe(127n);
  expect(countWithout(entry("2001:db8::/32"), [entry("2001:db8::/33"), entry("2001:db8:8000::/33")])).toBe(0n);
});

test("The networks around an entry are all wider ones, narrowest first", () => {
  expect(networksAround(entry("192.0.2.6/31")).slice(0, 3)).toStrictEqual([
    "192.0.2.4/30",
    "192.0.2.0/29",
    "192.0.2.0/28",
  ]);
  expect(networksAround(entry("2001:db8::1"))).toHaveLength(128);
});
