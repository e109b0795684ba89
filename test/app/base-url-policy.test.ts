import { describe, expect, test } from "@jest/globals";
import { baseUrlObjection, environmentKeyOf } from "../../src/app/base-url-policy.ts";

const strict = { allowInsecureHttp: true, allowedBaseUrls: undefined, allowPrivateNetworks: false };

const innerUrls = [
  "http://localhost:8080",
  "https://localhost.",
  "https://waf.localhost",
  "https://127.0.0.1",
  "https://127.1",
  "https://2130706433",
  "https://0x7f000001",
  "https://0177.0.0.1",
  "https://10.0.0.1/waf",
  "https://169.254.169.254",
  "https://[::1]",
  "https://[::ffff:10.0.0.1]",
  "https://[64:ff9b::7f00:1]",
  "https://[fd00:ec2::254]",
  "https://①②⑦.0.0.1",
];

describe("A base URL with an internal address", () => {
  test.each(innerUrls)("%s is rejected with a message that says how to allow it", (url) => {
    const { origin } = new URL(url);
    expect(baseUrlObjection(strict, url)).toBe(
      `spec.baseUrl ${url} is an internal address: set the public URL of the WAF's API, or start wafsync with --allowed-base-urls ${origin} or --allow-private-networks.`,
    );
  });

  test.each(innerUrls)("%s is accepted if private networks are allowed, or if it is an allowed base URL", (url) => {
    expect(baseUrlObjection({ ...strict, allowPrivateNetworks: true }, url)).toBeUndefined();
    expect(baseUrlObjection({ ...strict, allowedBaseUrls: [new URL(url).origin] }, url)).toBeUndefined();
  });
});

test.each(["https://waf.example", "https://1.1.1.1", "https://[2606:4700::1]", "https://localhost.example"])(
  "A base URL with a public host is accepted: %s",
  (url) => {
    expect(baseUrlObjection(strict, url)).toBeUndefined();
  },
);

describe("With the allowed base URL https://waf.example/api", () => {
  const allowedBaseUrls = ["https://waf.example/api"];
  const policy = { ...strict, allowedBaseUrls };
  const keyFor = environmentKeyOf({ apiKey: "key", baseUrl: undefined }, allowedBaseUrls);
  const ownKeyFor = environmentKeyOf({ apiKey: "key", baseUrl: "https://waf.example/api" }, undefined);

  test.each([
    "https://waf.example/api",
    "https://waf.example/api/",
    "https://waf.example/api/v1",
    "https://WAF.example:443/api",
  ])("%s is accepted, and gets the key from the environment", (url) => {
    expect(baseUrlObjection(policy, url)).toBeUndefined();
    expect(keyFor?.isFor(url)).toBe(true);
  });

  test.each([
    "https://waf.example.evil.example/api",
    "https://evil-waf.example/api",
    "https://waf.example:8443/api",
    "http://waf.example/api",
    "https://waf.example",
    "https://waf.example/",
    "https://waf.example/API",
    "https://waf.example/api-internal",
    "https://waf.example/apis",
    "https://waf.example/api/../other",
    "https://waf.example/api/%2e%2e/other",
    "https://waf.example/api\\..\\other",
    "https://waf.example/other/api",
    "https://waf.example@evil.example/api",
    "https://waf.example\\@evil.example/api",
    "https://evil.example/https://waf.example/api",
    "https://evil.example#https://waf.example/api",
    "https://evil.example?https://waf.example/api",
    "https://waf.example./api",
    "//waf.example/api",
    "api",
  ])("%s is rejected, and does not get the key from the environment", (url) => {
    expect(baseUrlObjection(policy, url)).toStrictEqual(expect.stringMatching(/^spec\.baseUrl /));
    expect(keyFor?.isFor(url)).toBe(false);
    expect(ownKeyFor?.isFor(url)).toBe(false);
  });
});
