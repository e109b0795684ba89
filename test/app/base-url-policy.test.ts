import { describe, expect, test } from "@jest/globals";
import { baseUrlObjection } from "../../src/app/base-url-policy.ts";

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
