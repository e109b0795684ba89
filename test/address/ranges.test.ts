import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { type Entry, familyOf, readObservedEntry } from "../../src/address/entry.ts";
import { NetworkIndex, narrowestContainers } from "../../src/address/ranges.ts";
import { anyNetwork, ipv4Network, ipv6Network, written } from "../support/builders/arbitraries.ts";

function entries(...texts: string[]): Entry[] {
  return texts.map((text) => readObservedEntry(text));
}

/** The first `prefixLength` bits of every address in the network, as a string. */
function networkBits(entry: Entry): string {
  const [address = "", length] = entry.split("/");
  const isIpv4 = familyOf(entry) === "ipv4";
  const [before = [], after = []] = address.split("::").map((side) => (side === "" ? [] : side.split(":")));
  const gap = Array<string>(isIpv4 ? 0 : 8 - before.length - after.length).fill("0");
  const parts = isIpv4
    ? address.split(".").map((part) => Number(part).toString(2).padStart(8, "0"))
    : [...before, ...gap, ...after].map((part) => Number.parseInt(part, 16).toString(2).padStart(16, "0"));
  return parts.join("").slice(0, length === undefined ? undefined : Number(length));
}

function contains(outer: Entry, inner: Entry): boolean {
  return familyOf(outer) === familyOf(inner) && networkBits(inner).startsWith(networkBits(outer));
}

function overlap(a: Entry, b: Entry): boolean {
  return contains(a, b) || contains(b, a);
}

describe("an index of networks", () => {
  test("finds the network that contains an address, if there is one", () => {
    const index = new NetworkIndex(entries("10.0.0.0/8", "192.0.2.7", "2001:db8::/32"));
    expect(index.containing("10.9.9.9" as Entry)).toBe("10.0.0.0/8");
    expect(index.containing("192.0.2.7" as Entry)).toBe("192.0.2.7");
    expect(index.containing("11.0.0.0" as Entry)).toBeUndefined();
    expect(index.containing("2001:db8:1::5" as Entry)).toBe("2001:db8::/32");
  });

  test("distinguishes a network that only overlaps an entry from one that contains it", () => {
    const index = new NetworkIndex(entries("192.0.2.64/26"));
    expect(index.containing("192.0.2.0/24" as Entry)).toBeUndefined();
    expect(index.overlaps("192.0.2.0/24" as Entry)).toBe("192.0.2.64/26");
  });

  test("returns the widest of several", () => {
    const index = new NetworkIndex(entries("10.1.0.0/16", "10.0.0.0/8", "10.1.1.0/24"));
    expect(index.containing("10.1.1.1" as Entry)).toBe("10.0.0.0/8");
  });

  test("separates IPv4 and IPv6, even for the widest networks", () => {
    const index = new NetworkIndex(entries("::/0"));
    expect(index.overlaps("192.0.2.1" as Entry)).toBeUndefined();
    expect(index.overlaps("2001:db8::1" as Entry)).toBe("::/0");
  });

  test("ignores opaque entries in the index and in queries", () => {
    const index = new NetworkIndex(entries("office", "0.0.0.0/0"));
    expect(index.overlaps("?office" as Entry)).toBeUndefined();
    expect(index.containing("?office" as Entry)).toBeUndefined();
    expect(index.containing("192.0.2.1" as Entry)).toBe("0.0.0.0/0");
  });

  test("lists the networks inside an entry in order, only the widest of nested ones, and none that contains it", () => {
    const index = new NetworkIndex(
      entries("192.0.2.7", "192.0.2.128/25", "192.0.2.129", "192.0.3.0/24", "2001:db8::/32"),
    );
    expect(index.inside("192.0.2.0/24" as Entry)).toStrictEqual(["192.0.2.7", "192.0.2.128/25"]);
    expect(index.inside("192.0.2.0/23" as Entry)).toStrictEqual(["192.0.2.7", "192.0.2.128/25", "192.0.3.0/24"]);
    expect(index.inside("192.0.2.129" as Entry)).toStrictEqual([]);
    expect(index.inside("2001:db8::/32" as Entry)).toStrictEqual(["2001:db8::/32"]);
    expect(index.inside("?office" as Entry)).toStrictEqual([]);
  });

  test("returns the first of several that an entry overlaps", () => {
    const index = new NetworkIndex(entries("198.51.100.0/24", "192.0.2.0/24", "203.0.113.0/24"));
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
      entries(
        "10.1.2.3",
        "10.0.0.0/8",
        "10.1.0.0/16",
        "10.2.0.0/16",
        "11.0.0.1",
        "2001:db8::/32",
        "2001:db8::1",
        "office",
      ),
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
