import { expect, test } from "@jest/globals";
import { isPublicAddress } from "../../src/net/checked-lookup.ts";

test.each([
  ["outside all of them", "1.1.1.1", "2606:4700:4700::1111", "2001:200::1", "192.31.196.1"],
  ["next to 10.0.0.0/8", "9.255.255.255", "11.0.0.0"],
  ["next to 100.64.0.0/10", "100.63.255.255", "100.128.0.0"],
  ["next to 172.16.0.0/12", "172.15.255.255", "172.32.0.0"],
  ["next to 192.0.0.0/24", "192.0.1.0"],
  ["next to 198.18.0.0/15", "198.17.255.255", "198.20.0.0"],
  ["next to 224.0.0.0/4", "223.255.255.255"],
  ["in IPv6 form, by NAT64 or by 6to4", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"],
])("Addresses on the public internet are public: %s", (_where, ...addresses) => {
  expect(addresses.filter((address) => !isPublicAddress(address))).toStrictEqual([]);
});

test.each([
  ["this host", "0.0.0.0", "::"],
  ["private 10.0.0.0/8", "10.0.0.1", "10.255.255.255"],
  ["private 172.16.0.0/12", "172.16.0.1", "172.31.255.255"],
  ["private 192.168.0.0/16", "192.168.0.1", "192.168.255.255"],
  ["shared by customers of a provider", "100.64.0.1", "100.100.100.200"],
  ["loopback", "127.0.0.1", "127.255.255.254", "::1"],
  ["loopback in IPv6 form", "::7f00:1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:0:127.0.0.1"],
  ["Azure's metadata", "168.63.129.16"],
  ["link-local, with metadata of clouds", "169.254.169.254", "169.254.170.2", "169.254.255.255", "fe80::1"],
  ["link-local in IPv6 form", "0:0:0:0:0:ffff:a9fe:a9fe"],
  ["protocol assignments", "192.0.0.192"],
  ["documentation", "192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
  ["relays of 6to4", "192.88.99.1"],
  ["benchmarks", "198.18.0.1", "2001:2::1"],
  ["multicast", "224.0.0.1", "ff02::1"],
  ["reserved and broadcast", "240.0.0.1", "255.255.255.255"],
  ["NAT64", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1"],
  ["discarded", "100::1"],
  ["Teredo", "2001::1"],
  ["6to4", "2002:7f00:1::1", "2002:a9fe:a9fe::", "2002:c0a8:101::1"],
  ["segment routing", "5f00::1"],
  ["unique local", "fc00::1", "fd00:ec2::254"],
  ["site-local", "fec0::1"],
])(
  "Addresses of special-purpose networks are not public, regardless of their spelling: %s",
  (_network, ...addresses) => {
    expect(addresses.filter((address) => isPublicAddress(address))).toStrictEqual([]);
  },
);

test.each([
  ["none", ""],
  ["a host", "localhost"],
  ["a network", "1.1.1.1/32"],
  ["another notation", "01.1.1.1", "0x7f.1", "2130706433"],
  ["with more around it", "2606:4700::1%eth0", "[::1]", " 1.1.1.1"],
])("A string that is not a plain address is not public: %s", (_what, ...texts) => {
  expect(texts.filter((text) => isPublicAddress(text))).toStrictEqual([]);
});
