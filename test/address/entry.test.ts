import { isIP } from "node:net";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { entryFaultCodes } from "../../src/address/entry-fault.ts";
import {
  clientNetworkOf,
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
import { verdicts } from "../support/builders/verdicts.ts";
import { caseCount } from "../support/builders/case-count.ts";

function entryOf(text: string): Entry {
  const parsed = parseDeclaredEntry(text);
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.entry;
}

describe("a declared entry", () => {
  test.each(verdicts.filter(({ expected }) => "entry" in expected))(
    "is accepted and converted to canonical form: $text",
    ({ text, expected }) => {
      expect(parseDeclaredEntry(text)).toStrictEqual({ ok: true, ...expected });
    },
  );

  test.each(verdicts.filter(({ expected }) => "code" in expected))(
    "is refused with a message that says what to write: $text",
    ({ text, expected }) => {
      const parsed = parseDeclaredEntry(text);
      expect(parsed.ok ? undefined : { code: parsed.fault.code, instead: parsed.fault.message }).toStrictEqual(
        "code" in expected ? { code: expected.code, instead: expect.stringContaining(expected.instead) } : undefined,
      );
    },
  );

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
    const met = new Set(verdicts.map(({ expected }) => ("code" in expected ? expected.code : undefined)));
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

  test("knows its family and its prefix length", () => {
    fc.assert(
      fc.property(anyNetwork, (network) => {
        const entry = entryOf(written(network));
        expect([familyOf(entry), prefixLengthOf(entry)]).toStrictEqual([network.family, network.prefixLength]);
      }),
    );
  });

  test("is the numbers of its first and last address", () => {
    fc.assert(
      fc.property(anyNetwork, (network) => {
        const { family, parts, prefixLength } = network;
        const bits = family === "ipv4" ? 8n : 16n;
        const first = parts.reduce((value, part) => (value << bits) | BigInt(part), 0n);
        const last = first + (1n << BigInt((family === "ipv4" ? 32 : 128) - prefixLength)) - 1n;
        const read = networkOf(entryOf(written(network)));
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

  test.each([
    ["203.0.113.9", "203.0.113.0/24"],
    ["2001:db8:1:2:3::4", "2001:db8:1:2::/64"],
    ["::ffff:203.0.113.9", "203.0.113.0/24"],
    ["203.0.113.0/25", undefined],
    ["unknown, 203.0.113.9", undefined],
  ])("of the client %s belongs to the network %s", (client, network) => {
    expect(clientNetworkOf(readObservedEntry(client))).toBe(network);
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
