import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { carve } from "../../src/model/carve.ts";
import { type Entry, readObservedEntry } from "../../src/model/entry.ts";
import type { WrittenNetwork } from "../support/builders/arbitraries.ts";
import { ipv4Network, ipv6Network, written } from "../support/builders/arbitraries.ts";
import { caseCount } from "../support/builders/case-count.ts";

/** More than any test here needs. */
const enough = 100_000;

function entry(text: string): Entry {
  return readObservedEntry(text);
}

function carved(text: string, ...without: readonly string[]): readonly Entry[] | undefined {
  return carve(entry(text), without.map(entry), enough);
}

describe("Carving", () => {
  test("leaves the other halves on the way to a single address", () => {
    expect(carved("192.0.2.0/29", "192.0.2.5")).toStrictEqual(["192.0.2.0/30", "192.0.2.4", "192.0.2.6/31"]);
  });

  test("leaves the networks between several, in any order, and keeps adjacent ones whole", () => {
    expect(carved("198.51.100.0/24", "198.51.100.192/26", "198.51.100.0/26")).toStrictEqual([
      "198.51.100.64/26",
      "198.51.100.128/26",
    ]);
    expect(carved("198.51.100.0/24", "198.51.100.128/25")).toStrictEqual(["198.51.100.0/25"]);
  });

  test("works on IPv6 across the borders of the groups", () => {
    expect(carved("2001:db8::/30", "2001:db8::/33")).toStrictEqual([
      "2001:db8:8000::/33",
      "2001:db9::/32",
      "2001:dba::/31",
    ]);
    expect(carved("2001:db8::/126", "2001:db8::3")).toStrictEqual(["2001:db8::/127", "2001:db8::2"]);
    expect(carved("::/0", "::1")).toHaveLength(128);
  });

  test("leaves the entry unchanged if no part is cut out, and nothing if all of it is", () => {
    expect(carved("192.0.2.0/24", "198.51.100.0/24", "2001:db8::/32")).toStrictEqual(["192.0.2.0/24"]);
    expect(carved("192.0.2.0/24", "192.0.0.0/16")).toStrictEqual([]);
    expect(carved("192.0.2.1", "192.0.2.1")).toStrictEqual([]);
    expect(carved("192.0.2.0/24", "192.0.2.0/25", "192.0.2.128/25")).toStrictEqual([]);
  });

  test("fails if and only if there are more parts than allowed", () => {
    const without = [entry("2001:db8::1")];
    expect(carve(entry("2001:db8::/64"), without, 64)).toHaveLength(64);
    expect(carve(entry("2001:db8::/64"), without, 63)).toBeUndefined();
    const everySecond = Array.from({ length: 512 }, (_, index) => entry(`198.18.${index >> 7}.${(index * 2) & 255}`));
    expect(carve(entry("198.18.0.0/22"), everySecond, 512)).toHaveLength(512);
    expect(carve(entry("198.18.0.0/22"), everySecond, 256)).toBeUndefined();
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
function rest([start, end]: Bounds, without: readonly Bounds[]): Bounds[] {
  const result: Bounds[] = [];
  let next = start;
  for (const [first, last] of joined(without)) {
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
      fc.property(casesOf(networks), ([network, without]) => {
        const pieces = carved(written(network), ...without.map(written)) ?? [];
        const ranges = pieces.map(boundsOfEntry);
        expect(joined(ranges)).toStrictEqual(rest(boundsOf(network), without.map(boundsOf)));
        // Each address once, in order: joining would hide overlapping pieces.
        for (const [index, [first]] of ranges.entries()) {
          const before = ranges[index - 1];
          if (before !== undefined) expect(first > before[1]).toBe(true);
        }
        // No two pieces are the halves of one network.
        for (const [index, [first, last]] of ranges.entries()) {
          const before = ranges[index - 1];
          const size = last - first + 1n;
          const isPair = before !== undefined && before[1] + 1n === first && before[1] - before[0] + 1n === size;
          if (isPair) expect(before[0] % (2n * size)).not.toBe(0n);
        }
      }),
      { numRuns: caseCount(1_000) },
    );
  });

  test("is the pieces themselves when it is carved again", () => {
    fc.assert(
      fc.property(casesOf(ipv4Network), ([network, without]) => {
        const pieces = carved(written(network), ...without.map(written)) ?? [];
        for (const piece of pieces.slice(0, 20)) expect(carved(piece, ...without.map(written))).toStrictEqual([piece]);
      }),
      { numRuns: caseCount(200) },
    );
  });
});
