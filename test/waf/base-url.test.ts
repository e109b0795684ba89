import { describe, expect, test } from "@jest/globals";
import { normalizeBaseUrl, requireBaseUrl } from "../../src/waf/base-url.ts";

describe("a base URL", () => {
  test.each([
    ["https://waf.example", "https://waf.example", ""],
    ["HTTPS://WAF.Example:443/", "https://waf.example", ""],
    ["https://waf.example:8443//v1//", "https://waf.example:8443", "/v1"],
    ["http://127.0.0.1:80/a/../b/%2f", "http://127.0.0.1", "/b/%2F"],
    [" https://[2001:DB8::0:1]/ ", "https://[2001:db8::1]", ""],
  ])("%j is normalized", (text, origin, path) => {
    expect(normalizeBaseUrl(text)).toStrictEqual({ ok: true, value: { origin, path } });
  });

  test.each([
    ["waf.example", "is not a URL"],
    ["ftp://waf.example", "must begin with https://"],
    ["https://user:secret@waf.example", "must not contain a user name"],
    ["https://waf.example/?api_key=secret", "must not contain a query or fragment"],
    ["https://waf.example/#secret", "must not contain a query or fragment"],
  ])("%j is rejected, and the problem does not repeat it", (text, problem) => {
    const result = normalizeBaseUrl(text);
    expect(result).toStrictEqual({ ok: false, problem: expect.stringContaining(problem) });
    expect(JSON.stringify(result)).not.toContain("secret");
    expect(() => requireBaseUrl(text)).toThrow(expect.objectContaining({ code: "InvalidBaseUrl" }));
  });
});
