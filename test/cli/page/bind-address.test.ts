import { describe, expect, test } from "@jest/globals";
import { isLoopback, isOwnHost, parseBindAddress, urlOf } from "../../../src/cli/page/bind-address.ts";

describe("An address to serve a page at", () => {
  test.each([
    ["127.0.0.1:8082", "http://127.0.0.1:8082/"],
    ["localhost:0", "http://127.0.0.1:0/"],
    ["[::1]:65535", "http://[::1]:65535/"],
  ])("%s is accepted", (text, url) => {
    const bind = parseBindAddress("--bind-address", text);
    expect(bind === undefined ? undefined : urlOf(bind)).toBe(url);
  });

  test("is disabled by 0", () => {
    expect(parseBindAddress("--bind-address", "0")).toBeUndefined();
  });

  test.each([
    "8082",
    ":8082",
    "::1:8082",
    "127.0.0.1",
    "127.0.0.1:65536",
    "example.com:80",
    "[127.0.0.1]:1",
    "",
    "1.2.3:4",
  ])("%j is rejected", (text) => {
    expect(() => parseBindAddress("--bind-address", text)).toThrow("is not an address with a port");
  });
});

test.each([
  ["127.0.0.1:80", true],
  ["[::1]:80", true],
  ["0.0.0.0:80", false],
  ["[::]:80", false],
  ["192.0.2.1:80", false],
])("whether only this machine can reach %s: %s", (text, expected) => {
  expect(isLoopback(parseBindAddress("--bind-address", text)!)).toBe(expected);
});

describe("The host of a request", () => {
  test.each(["127.0.0.1:8082", "localhost", "LOCALHOST:1", "wafsync.localhost:80", "[::1]:8082", "192.0.2.1"])(
    "may be %s",
    (host) => {
      expect(isOwnHost(host)).toBe(true);
    },
  );

  test.each([
    undefined,
    "",
    "evil.example:8082",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "notlocalhost",
    "2130706433",
    "0x7f.1",
    "127.0.0.1:80:80",
    "::1",
    "[evil.example]",
    "localhost@evil.example",
  ])("must not be %j, which another website could use", (host) => {
    expect(isOwnHost(host)).toBe(false);
  });
});
