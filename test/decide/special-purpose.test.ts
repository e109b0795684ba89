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

describe("An entry that overlaps a special-purpose network is refused, and the network named:", () => {
  test.each([
    ["0.0.0.0", "0.0.0.0/8"],
    ["10.0.0.0/8", "10.0.0.0/8"],
    ["10.255.255.255", "10.0.0.0/8"],
    ["100.64.0.0", "100.64.0.0/10"],
    ["100.127.255.255", "100.64.0.0/10"],
    ["127.0.0.1", "127.0.0.0/8"],
    ["169.254.169.254", "169.254.0.0/16"],
    ["172.16.0.0", "172.16.0.0/12"],
    ["172.31.255.255", "172.16.0.0/12"],
    ["192.0.0.1", "192.0.0.0/24"],
    ["192.0.0.170", "192.0.0.0/24"],
    ["192.88.99.1", "192.88.99.0/24"],
    ["192.168.1.0/24", "192.168.0.0/16"],
    ["224.0.0.1", "224.0.0.0/4"],
    ["239.255.255.255", "224.0.0.0/4"],
    ["240.0.0.1", "240.0.0.0/4"],
    ["255.255.255.255", "240.0.0.0/4"],
    ["::", "::"],
    ["::1", "::1"],
    ["::c000:201", "::/3"],
    ["64:ff9b:1::1", "64:ff9b:1::/48"],
    ["100::1", "100::/64"],
    ["100:0:0:1::1", "100:0:0:1::/64"],
    ["200::1", "::/3"],
    ["2001:1::4", "2001::/23"],
    ["2001:5::1", "2001::/23"],
    ["2001:10::1", "2001::/23"],
    ["2001:1ff::1", "2001::/23"],
    ["4000::1", "4000::/2"],
    ["5f00::1", "5f00::/16"],
    ["8000::1", "8000::/1"],
    ["fc00::1", "fc00::/7"],
    ["fd12:3456:789a::/48", "fc00::/7"],
    ["fe80::1", "fe80::/10"],
    ["fec0::1", "fec0::/10"],
    ["fe00::1", "8000::/1"],
    ["ff02::1", "ff00::/8"],
  ])("%s for %s", (text, network) => {
    expect(refusedFor(text)).toBe(network);
  });

  test.each([
    ["0.0.0.0/0", "0.0.0.0/8"],
    ["0.0.0.0/1", "0.0.0.0/8"],
    ["100.0.0.0/8", "100.64.0.0/10"],
    ["192.0.0.0/8", "192.0.0.0/24"],
    ["192.0.0.0/24", "192.0.0.0/24"],
    ["192.0.0.8/31", "192.0.0.0/24"],
    ["128.0.0.0/1", "169.254.0.0/16"],
    ["::/0", "::"],
    ["::/96", "::"],
    ["64::/16", "64:ff9b:1::/48"],
    ["2000::/3", "2001::/23"],
    ["2001::/16", "2001::/23"],
    ["2001:20::/27", "2001::/23"],
    ["fe00::/7", "fe80::/10"],
  ])("%s for the first of those that it overlaps, %s", (text, network) => {
    expect(refusedFor(text)).toBe(network);
  });
});

describe("An entry is accepted", () => {
  test.each(["192.0.2.0/24", "198.51.100.7", "203.0.113.0/24", "2001:db8::/32", "2001:db8::1", "3fff::/20"])(
    "if it is for documentation: %s",
    (text) => {
      expect(objectionTo(text)).toBeUndefined();
    },
  );

  test.each(["198.18.0.0/15", "198.19.255.255", "2001:2::/48", "2001:2:0:1::/64"])(
    "if it is for benchmarks: %s",
    (text) => {
      expect(objectionTo(text)).toBeUndefined();
    },
  );

  test.each([
    "192.0.0.9",
    "192.0.0.10",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.175.48.0/24",
    "64:ff9b::/96",
    "64:ff9b::c000:221",
    "2001::/32",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:1::1",
    "2001:1::2",
    "2001:1::3",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:20::/28",
    "2001:30::/28",
    "2002::/16",
    "2002:c000:201::1",
    "2620:4f:8000::/48",
  ])("if the registries allow its use on the public Internet: %s", (text) => {
    expect(objectionTo(text)).toBeUndefined();
  });

  test.each(["9.255.255.255", "11.0.0.0/8", "100.63.255.255", "100.128.0.0/9", "126.0.0.0/8", "128.0.0.0/8"])(
    "if it is adjacent to such a network: %s",
    (text) => {
      expect(objectionTo(text)).toBeUndefined();
    },
  );

  test.each(["172.15.255.255", "172.32.0.0/11", "192.167.0.0/16", "223.255.255.255", "2000::", "2001:200::/23"])(
    "if it is adjacent to another such network: %s",
    (text) => {
      expect(objectionTo(text)).toBeUndefined();
    },
  );
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
