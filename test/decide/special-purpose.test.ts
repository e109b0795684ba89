import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { networkOf } from "../../src/address/entry.ts";
import { specialPurposeObjection } from "../../src/decide/special-purpose.ts";
import { ipv4Network, ipv6Network, written } from "../support/builders/arbitraries.ts";
import { entry } from "../support/builders/gathered.ts";

function objectionTo(text: string): string | undefined {
  return specialPurposeObjection(entry(text), networkOf(entry(text)));
}

/** The network because of which the entry is refused. */
function refusedFor(text: string): string | undefined {
  return /overlaps (\S+) \(/u.exec(objectionTo(text) ?? "")?.[1];
}

// The tables at the end judge IPv4. These are the networks that are named, and what the registries say of IPv6.
describe("An entry that overlaps a special-purpose network is refused, and the first such network named:", () => {
  test.each([
    ["0.0.0.0/0", "0.0.0.0/8"],
    ["10.255.255.255", "10.0.0.0/8"],
    ["192.0.0.8/31", "192.0.0.0/24"],
    ["::/0", "::"],
    ["::1", "::1"],
    ["::c000:201", "::/3"],
    ["64::/16", "64:ff9b:1::/48"],
    ["100::1", "100::/64"],
    ["100:0:0:1::1", "100:0:0:1::/64"],
    ["2000::/3", "2001::/23"],
    ["2001:1::4", "2001::/23"],
    ["2001:20::/27", "2001::/23"],
    ["4000::1", "4000::/2"],
    ["5f00::1", "5f00::/16"],
    ["fd12:3456:789a::/48", "fc00::/7"],
    ["fe00::/7", "fe80::/10"],
    ["fec0::1", "fec0::/10"],
    ["fe00::1", "8000::/1"],
    ["ff02::1", "ff00::/8"],
  ])("%s for %s", (text, network) => {
    expect(refusedFor(text)).toBe(network);
  });
});

describe("An entry is accepted", () => {
  test.each([
    ["for documentation", ["192.0.2.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"]],
    ["for benchmarks", ["198.18.0.0/15", "2001:2::/48"]],
    [
      "as an exception of the registries",
      ["192.31.196.0/24", "192.175.48.0/24", "64:ff9b::/96", "2001::/32", "2001:1::1"],
    ],
    ["for a protocol", ["2001:1::3", "2001:3::/32", "2001:4:112::/48", "2001:20::/28", "2001:30::/28"]],
    ["like any other", ["2002::/16", "2620:4f:8000::/48", "2000::", "2001:200::/23"]],
  ])("if it is used %s", (_, texts) => {
    for (const text of texts) expect(objectionTo(text)).toBeUndefined();
  });
});

describe("The message", () => {
  test("names the network, its purpose and RFC, and what to write instead", () => {
    expect(objectionTo("10.1.2.0/24")).toBe(
      "10.1.2.0/24 overlaps 10.0.0.0/8 (private use, RFC 1918), which never sends requests over the public Internet: write public addresses, or set spec.guards.specialPurpose of the instance to Allow.",
    );
  });

  test("suggests narrower networks if the entry contains public addresses", () => {
    expect(objectionTo("172.0.0.0/8")).toBe(
      "172.0.0.0/8 overlaps 172.16.0.0/12 (private use, RFC 1918), which never sends requests over the public Internet: write narrower networks that leave it out, or set spec.guards.specialPurpose of the instance to Allow.",
    );
  });
});

/** The same tables, derived from the registries independently, as first and last addresses of the unreachable networks. */
const unreachable: readonly (readonly [string, string])[] = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.8"],
  ["192.0.0.11", "192.0.0.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["224.0.0.0", "255.255.255.255"],
];

function numberOf(address: string): number {
  return address.split(".").reduce((value, octet) => value * 256 + Number(octet), 0);
}

test("The first and the last address of a special-purpose network are refused, and those next to it are accepted", () => {
  for (const [from, to] of unreachable) {
    for (const edge of [from, to]) expect([edge, objectionTo(edge)]).not.toStrictEqual([edge, undefined]);
    for (const beyond of [numberOf(from) - 1, numberOf(to) + 1]) {
      const text = [24, 16, 8, 0].map((shift) => Math.floor(beyond / 2 ** shift) % 256).join(".");
      if (beyond >= 0 && beyond < 2 ** 32) expect([text, objectionTo(text)]).toStrictEqual([text, undefined]);
    }
  }
});

test("An IPv4 entry is refused exactly if it has an unreachable address, whatever its width", () => {
  fc.assert(
    fc.property(ipv4Network, (network) => {
      const first = numberOf(network.parts.join("."));
      const last = first + 2 ** (32 - network.prefixLength) - 1;
      const isRefused = unreachable.some(([from, to]) => first <= numberOf(to) && numberOf(from) <= last);
      expect(objectionTo(written(network)) !== undefined).toBe(isRefused);
    }),
    { numRuns: 5_000 },
  );
});

test("An IPv6 entry outside 2000::/3 is refused unless it translates IPv4, and one in it only within 2001::/23", () => {
  fc.assert(
    fc.property(ipv6Network, (network) => {
      const [first = 0, second = 0, ...rest] = network.parts;
      const { prefixLength } = network;
      const isGlobal = prefixLength >= 3 && first >> 13 === 1;
      const isTranslated =
        prefixLength >= 96 && first === 0x64 && second === 0xff9b && rest.slice(0, 4).every((group) => group === 0);
      const isAssigned = first === 0x2001 ? second < 0x200 || prefixLength < 23 : prefixLength < 16 && first <= 0x2001;
      const isRefused = objectionTo(written(network)) !== undefined;
      if (!isGlobal) expect(isRefused).toBe(!isTranslated);
      else if (isRefused) expect(isAssigned).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});
