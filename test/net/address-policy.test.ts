import { describe, expect, test } from "@jest/globals";
import { isPublicAddress } from "../../src/net/address-policy.ts";

describe("An address on the public internet is public:", () => {
  test.each([
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.31.196.1",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2606:4700:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::1.1.1.1",
    "64:ff9b::101:101",
    "2002:101:101::1",
  ])("%s", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe("An address of a special-purpose network is not public, regardless of its spelling:", () => {
  test.each([
    "0.0.0.0",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:0:127.0.0.1",
    "0:0:0:0:0:ffff:a9fe:a9fe",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a9fe:a9fe::",
    "2002:c0a8:101::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
  ])("%s", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe("A string that is not a plain address is not public:", () => {
  test.each([
    "",
    "localhost",
    "1.1.1.1/32",
    "01.1.1.1",
    "0x7f.1",
    "2130706433",
    "2606:4700::1%eth0",
    "[::1]",
    " 1.1.1.1",
  ])("%j", (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });
});
