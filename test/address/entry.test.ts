import { isIP } from "node:net";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { type Entry, isOpaque, networkOf, parseDeclaredEntry, readObservedEntry } from "../../src/address/entry.ts";
import { partsOf } from "../../src/address/network.ts";
import { anyNetwork, spelling, written } from "../support/builders/arbitraries.ts";
import { caseCount } from "../support/builders/case-count.ts";

function entryOf(text: string): Entry {
  const parsed = parseDeclaredEntry(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.entry;
}

const refused: readonly (readonly [text: string, fault: string, instead: string])[] = [
  ["", "is empty", "write an address such as 192.0.2.1, or remove the item"],
  ["  ", "is empty", "write an address such as 192.0.2.1, or remove the item"],
  ["10.1.2.3/8", "has host bits", "write 10.0.0.0/8 for the network, or 10.1.2.3 for the one address"],
  ["2001:db8::1/32", "has host bits", "write 2001:db8::/32 for the network, or 2001:db8::1 for the one address"],
  ["192.0.2.1/0", "has host bits", "write 0.0.0.0/0 for the network, or 192.0.2.1 for the one address"],
  ["010.1.1.1", "has leading zeros, which some programs read as octal and others as decimal", "write 10.1.1.1"],
  ["010.001.000.000/16", "has leading zeros", "write 10.1.0.0/16"],
  ["::ffff:1.2.3.4", "is an IPv4 address in IPv6 form", "write 1.2.3.4"],
  ["::FFFF:102:304", "is an IPv4 address in IPv6 form", "write 1.2.3.4"],
  ["::ffff:10.0.0.0/104", "is an IPv4 address in IPv6 form", "write 10.0.0.0/8"],
  ["::ffff:0:0/95", "is an IPv4 address in IPv6 form", "write an IPv4 network, such as 192.0.2.0/24"],
  ["fe80::1%eth0", "has a zone ID", "write a routable address"],
  ["192.0.2.1\n", "contains whitespace", "write 192.0.2.1"],
  ["192.0.2.0 /24", "contains whitespace", "write 192.0.2.0/24"],
  ["192.0.2.1 192.0.2.2", "contains whitespace", "write one address for each item"],
  ["192.0.2.1 - 192.0.2.2", "contains several items", "indent all items of the list alike"],
  ["192.0.2.1 # office", "contains whitespace", "write one address for each item"],
  ["10.1", "is short for different addresses", "write four decimal numbers, such as 192.0.2.1"],
  ["127.1", "is short for different addresses", "write four decimal numbers"],
  ["0x7f.0.0.0x1", "is short for different addresses", "write four decimal numbers"],
  ["2130706433", "is short for different addresses", "write four decimal numbers"],
  ["10/8", "is short for different addresses", "write four decimal numbers"],
  ["192.0.2.0/024", "has leading zeros", "write 192.0.2.0/24"],
  ["10.0.0.0/33", "has no valid prefix length", "a number from 0 to 32, or to 128 for IPv6"],
  ["2001:db8::/129", "has no valid prefix length", "a number from 0 to 32, or to 128 for IPv6"],
  ["10.0.0.0/", "has no valid prefix length", "a number from 0 to 32"],
  ["10.0.0.0/8/8", "has no valid prefix length", "a number from 0 to 32"],
  ["10.1.2.3/255.0.0.0", "has no valid prefix length", "a number from 0 to 32"],
  ["192.0.2.1-192.0.2.9", "is a range", "write the networks that cover it"],
  ["192.0.2.1-9", "is a range", "write the networks that cover it"],
  ["10.1.*.*", "has a wildcard", "such as 192.0.2.0/24 for 192.0.2.*"],
  ["192.0.2.1:443", "has a port", "write 192.0.2.1"],
  ["[2001:db8::1]:443", "has a port", "write 2001:db8::1"],
  ["[2001:db8::1]", "has a port or brackets", "write 2001:db8::1"],
  ["https://192.0.2.1/admin", "is a URL", "write 192.0.2.1"],
  ["https://192.0.2.1:8443/", "is a URL", "write 192.0.2.1"],
  ["https://www.example.com", "is a URL", "write the addresses themselves"],
  ["www.example.com/path", "is a host name", "write the addresses that it stands for"],
  ["www.example.com", "is a host name", "write the addresses that it stands for"],
  ["localhost", "is a host name", "write the addresses that it stands for"],
  ["256.1.1.1", "is not an IP address", "write four numbers of at most 255 each"],
  ["1.2.3.4.5", "is not an IP address", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["1.2.3.", "is not an IP address", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["1::2::3", "is not an IP address", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["::010.1.1.1", "is not an IP address", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["１92.0.2.1", "is not an IP address", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["deadbeef", "is not an IP address", "write an address such as 192.0.2.1 or 2001:db8::1"],
];

describe("a declared entry", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["192.0.2.1/32", "192.0.2.1"],
    ["10.0.0.0/8", "10.0.0.0/8"],
    ["0.0.0.0", "0.0.0.0"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["255.255.255.255", "255.255.255.255"],
    ["::", "::"],
    ["::/0", "::/0"],
    ["::1", "::1"],
    ["2001:db8::/32", "2001:db8::/32"],
    ["2001:DB8::A", "2001:db8::a"],
    ["2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"],
    ["2001:0db8:0000:0000:0000:0000:0000:0001/128", "2001:db8::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::1.2.3.4", "::102:304"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["fe80::1", "fe80::1"],
  ])("is accepted and converted to canonical form: %s", (text, entry) => {
    expect(parseDeclaredEntry(text)).toStrictEqual({ ok: true, entry });
  });

  test.each(refused)("is refused with a message that says what to write: %s", (text, fault, instead) => {
    const parsed = parseDeclaredEntry(text);
    const [what, remedy] = parsed.ok ? [] : parsed.message.split(": ");
    expect(what).toContain(fault);
    expect(remedy).toContain(instead);
  });

  test("is refused when it is longer than any spelling without abbreviation", () => {
    const longest = "2001:0db8:0000:0000:0000:0000:192.0.2.128/128";
    const message = `"${longest}" has more than 43 characters: write 2001:db8::c000:280`;
    expect(parseDeclaredEntry(longest)).toStrictEqual({ ok: false, message });
  });

  test("is told about its indentation, if YAML joined several items", () => {
    const parsed = parseDeclaredEntry("2001:db8:0:1:2:3:4:5 - 2001:db8:0:1:2:3:4:6");
    expect(parsed).toMatchObject({ message: expect.stringContaining("indent all items of the list alike") });
  });

  test("is quoted in one short line, whatever it contains", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 500 }), (text) => {
        const parsed = parseDeclaredEntry(text);
        if (parsed.ok) return;
        expect(parsed.message).not.toMatch(/[^ -~…]/u);
        expect(parsed.message.length).toBeLessThan(1000);
      }),
    );
  });

  test("agrees with the system's address parser on nearly valid strings", () => {
    const almost = fc
      .tuple(
        anyNetwork.chain(spelling),
        fc.nat(60),
        fc.constantFrom("0", "1", "9", "a", "F", ":", ".", "x", "-", " "),
        fc.nat(2),
      )
      .map(
        ([text, at, character, kind]) =>
          `${text.slice(0, at)}${kind > 0 ? character : ""}${text.slice(at + (kind % 2))}`,
      )
      .filter((text) => !text.includes("/") && text.length <= 43);
    fc.assert(
      fc.property(almost, (text) => {
        const parsed = parseDeclaredEntry(text);
        const isMapped = !parsed.ok && parsed.message.includes("in IPv6 form");
        expect(parsed.ok || isMapped).toBe(isIP(text) !== 0);
      }),
      { numRuns: caseCount(1500) },
    );
  });

  test("has the same value in each of its spellings and in canonical form", () => {
    const respelled = anyNetwork.chain((network) => fc.tuple(fc.constant(network), spelling(network)));
    fc.assert(
      fc.property(respelled, ([network, text]) => {
        const entry = entryOf(written(network));
        expect(entryOf(text)).toBe(entry);
        expect(entryOf(entry)).toBe(entry);
        expect(readObservedEntry(text)).toBe(entry);
        expect(entry).not.toMatch(/[A-Z]|\/32$(?<=\.\d+\/32)|\/128$/u);
      }),
      { numRuns: caseCount(800) },
    );
  });

  test("knows its family, its prefix length, and the numbers of its first and last address", () => {
    fc.assert(
      fc.property(anyNetwork, (network) => {
        const { family, parts, prefixLength } = network;
        const bits = family === "ipv4" ? 8n : 16n;
        const first = parts.reduce((value, part) => (value << bits) | BigInt(part), 0n);
        const last = first + (1n << BigInt((family === "ipv4" ? 32 : 128) - prefixLength)) - 1n;
        const entry = entryOf(written(network));
        const read = networkOf(entry);
        expect({ ...read, first: BigInt(read.first), last: BigInt(read.last) }).toStrictEqual({
          family,
          prefixLength,
          first,
          last,
        });
        expect(partsOf(read.first)).toStrictEqual(parts);
      }),
    );
  });
});

describe("an observed entry", () => {
  test.each([
    ["10.1.2.3/8", "10.0.0.0/8"],
    ["10.0.0.0/08", "10.0.0.0/8"],
    ["192.0.2.1/32", "192.0.2.1"],
    [" 192.0.2.1\r\n", "192.0.2.1"],
    ["2001:0DB8:0000:0000:0000:0000:0000:0001/128", "2001:db8::1"],
    ["2001:db8::1/32", "2001:db8::/32"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:C000:0201/128", "192.0.2.1"],
    ["::ffff:10.1.2.3/104", "10.0.0.0/8"],
    ["::ffff:10.1.2.3/64", "::/64"],
  ])("reads %j as %s", (text, entry) => {
    expect(readObservedEntry(text)).toBe(entry);
    expect(isOpaque(readObservedEntry(text))).toBe(false);
  });

  test.each(["", "office", "010.0.0.1", "10.1", "fe80::1%eth0", "192.0.2.1-192.0.2.9", "?", "10.0.0.0/33"])(
    'is opaque if it is not an address or ambiguous: "%s"',
    (text) => {
      const entry = readObservedEntry(text);
      expect(isOpaque(entry)).toBe(true);
      expect(entry).toBe(`?${text}`);
      expect(() => networkOf(entry)).toThrow(TypeError);
    },
  );

  test("is never equal to a declared one unless it is the same network", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 50 }), (text) => {
        const entry = readObservedEntry(text);
        expect(isOpaque(entry)).toBe(!parseDeclaredEntry(entry).ok);
      }),
    );
  });
});
