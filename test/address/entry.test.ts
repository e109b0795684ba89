import { isIP } from "node:net";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { type EntryFaultCode, entryFaultCodes } from "../../src/address/entry-fault.ts";
import {
  type Entry,
  familyOf,
  isOpaque,
  networkOf,
  parseDeclaredEntry,
  prefixLengthOf,
  readObservedEntry,
} from "../../src/address/entry.ts";
import { partsOf } from "../../src/address/network.ts";
import { anyNetwork, spelling, written } from "../support/builders/arbitraries.ts";
import { caseCount } from "../support/builders/case-count.ts";

function entryOf(text: string): Entry {
  const parsed = parseDeclaredEntry(text);
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.entry;
}

const refused: readonly (readonly [text: string, code: EntryFaultCode, instead: string])[] = [
  ["", "Empty", "write an address such as 192.0.2.1, or remove the item"],
  ["  ", "Empty", "write an address such as 192.0.2.1, or remove the item"],
  ["10.1.2.3/8", "HostBits", "write 10.0.0.0/8 for the network, or 10.1.2.3 for the one address"],
  ["2001:db8::1/32", "HostBits", "write 2001:db8::/32 for the network, or 2001:db8::1 for the one address"],
  ["192.0.2.1/0", "HostBits", "write 0.0.0.0/0 for the network, or 192.0.2.1 for the one address"],
  ["010.1.1.1", "LeadingZeros", "write 10.1.1.1 if it is decimal"],
  ["010.001.000.000/16", "LeadingZeros", "write 10.1.0.0/16 if it is decimal"],
  ["::ffff:1.2.3.4", "MappedIPv4", "write 1.2.3.4"],
  ["::FFFF:102:304", "MappedIPv4", "write 1.2.3.4"],
  ["::ffff:10.0.0.0/104", "MappedIPv4", "write 10.0.0.0/8"],
  ["::ffff:0:0/95", "MappedIPv4", "write an IPv4 network, such as 192.0.2.0/24"],
  ["fe80::1%eth0", "ZoneId", "write a routable address"],
  [" 192.0.2.1", "WhiteSpace", "write it without"],
  ["192.0.2.1\n", "WhiteSpace", "write it without"],
  ["192.0.2.0 /24", "WhiteSpace", "write it without"],
  ["192.0.2.1 192.0.2.2", "WhiteSpace", "write one address for each item"],
  ["192.0.2.1 - 192.0.2.2", "WhiteSpace", "indent all items of the list alike"],
  ["192.0.2.1 # office", "WhiteSpace", "write one address for each item"],
  ["10.1", "ShortIPv4", "write four decimal numbers, such as 192.0.2.1"],
  ["127.1", "ShortIPv4", "write four decimal numbers"],
  ["0x7f.1", "ShortIPv4", "write four decimal numbers"],
  ["0x7f.0.0.0x1", "ShortIPv4", "write four decimal numbers"],
  ["2130706433", "ShortIPv4", "write four decimal numbers"],
  ["10/8", "ShortIPv4", "write four decimal numbers"],
  ["192.0.2.0/024", "PrefixLength", "write 192.0.2.0/24"],
  ["10.0.0.0/08", "PrefixLength", "write 10.0.0.0/8"],
  ["10.0.0.0/33", "PrefixLength", "a number from 0 to 32"],
  ["2001:db8::/129", "PrefixLength", "a number from 0 to 128"],
  ["10.0.0.0/", "PrefixLength", "a number from 0 to 32"],
  ["10.0.0.0/-1", "PrefixLength", "a number from 0 to 32"],
  ["10.0.0.0/+8", "PrefixLength", "a number from 0 to 32"],
  ["10.0.0.0/8/8", "PrefixLength", "a number from 0 to 32"],
  ["10.1.2.3/255.0.0.0", "Netmask", "write 10.0.0.0/8"],
  ["192.0.2.1-192.0.2.9", "Range", "write the networks that cover it"],
  ["192.0.2.1-9", "Range", "write the networks that cover it"],
  ["10.1.*.*", "Wildcard", "such as 10.1.0.0/16"],
  ["192.0.2.1:443", "Port", "write 192.0.2.1"],
  ["[2001:db8::1]:443", "Port", "write 2001:db8::1"],
  ["[2001:db8::1]", "Port", "write 2001:db8::1"],
  ["https://192.0.2.1/admin", "Url", "write 192.0.2.1"],
  ["https://192.0.2.1:8443/", "Url", "write 192.0.2.1"],
  ["https://www.example.com", "Url", "write the addresses themselves"],
  ["www.example.com/path", "Url", "write the addresses themselves"],
  ["www.example.com", "HostName", "write the addresses that it stands for"],
  ["localhost", "HostName", "write the addresses that it stands for"],
  ["256.1.1.1", "NotAnAddress", "write four numbers of at most 255 each"],
  ["1.2.3.4.5", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["1.2.3.", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["1:2:3:4:5:6:7", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["1::2::3", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["12345::", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["::010.1.1.1", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["１92.0.2.1", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"],
  ["deadbeef", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"],
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

  test.each(refused)("is refused with a message that says what to write: %s", (text, code, instead) => {
    const parsed = parseDeclaredEntry(text);
    const message = expect.stringContaining(instead);
    expect(parsed.ok ? undefined : parsed.fault).toMatchObject({ code, message });
  });

  test("is refused when it is longer than any spelling without abbreviation", () => {
    const parsed = parseDeclaredEntry("0000:0000:0000:0000:0000:0000:192.000.002.001/128");
    expect(parsed).toMatchObject({ ok: false, fault: { code: "TooLong" } });
    const longest = "2001:0db8:0000:0000:0000:0000:192.0.2.128/128";
    expect(parseDeclaredEntry(longest)).toMatchObject({
      ok: false,
      fault: { code: "TooLong", message: expect.stringContaining("write 2001:db8::c000:280") },
    });
  });

  test("is told about its indentation, if YAML joined several items", () => {
    const parsed = parseDeclaredEntry("2001:db8:0:1:2:3:4:5 - 2001:db8:0:1:2:3:4:6");
    expect(parsed).toMatchObject({ fault: { message: expect.stringContaining("indent all items of the list alike") } });
  });

  test("causes every fault code at least once, so none lacks a message", () => {
    const met = new Set(refused.map(([, code]) => code));
    expect(entryFaultCodes.filter((code) => code !== "TooLong" && !met.has(code))).toStrictEqual([]);
  });

  test("is quoted in one short line, whatever it contains", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 500 }), (text) => {
        const parsed = parseDeclaredEntry(text);
        if (parsed.ok) return;
        expect(parsed.fault.message).not.toMatch(/[^ -~…]/u);
        expect(parsed.fault.message.length).toBeLessThan(1000);
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
        const isMapped = !parsed.ok && parsed.fault.code === "MappedIPv4";
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
        expect([familyOf(entry), prefixLengthOf(entry)]).toStrictEqual([family, prefixLength]);
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
      expect(() => familyOf(entry)).toThrow(TypeError);
      expect(() => prefixLengthOf(entry)).toThrow(TypeError);
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
