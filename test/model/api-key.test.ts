import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { ApiKey, apiKeyLengthMax, validateApiKey } from "../../src/model/api-key.ts";

const secret = `K3y/+%"&<é=7f3a9c0d`;
const key = new ApiKey(secret);

describe("an API key", () => {
  test("is not printed by accident", () => {
    for (const text of [String(key), JSON.stringify({ key }), inspect(key), inspect({ key }, { showHidden: true })]) {
      expect(text).toContain("[api key]");
      expect(text).not.toContain("7f3a9c0d");
    }
  });

  test("has a fingerprint that is equal only for equal keys and does not reveal the key", () => {
    expect(key.fingerprint()).toMatch(/^[0-9a-f]{32}$/);
    expect(new ApiKey(secret).fingerprint()).toBe(key.fingerprint());
    expect(new ApiKey(`${secret}x`).fingerprint()).not.toBe(key.fingerprint());
  });
});

describe("validating an API key", () => {
  test.each([
    ["as it is", "abcd1234", "abcd1234"],
    ["without the line break of echo", "abcd1234\n", "abcd1234"],
    ["without the line break of Windows", "abcd1234\r\n", "abcd1234"],
    ["with every printable character", `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~é`, `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~é`],
  ])("accepts a key %s", (_, text, expected) => {
    const result = validateApiKey(text);
    expect(result.ok && result.key.reveal()).toBe(expected);
  });

  test.each([
    ["", "is empty"],
    [" \n ", "is empty"],
    [" abcd1234", "contains whitespace"],
    ["abcd1234\n\n", "contains whitespace"],
    ["abcd\u00001234", "contains a control character"],
    ["abcd\u200B1234", "contains a control character"],
    ["abcd\uFFFD1234", "contains a control character"],
    ["abcd\uD8001234", "contains a control character"],
    ["abc", "is too short"],
    ["x".repeat(apiKeyLengthMax + 1), "is too long"],
  ])("refuses %j: it %s", (text, problem) => {
    const result = validateApiKey(text);
    expect(result).toStrictEqual({ ok: false, problem: expect.stringContaining(problem) });
    if (text.includes("abcd")) expect(JSON.stringify(result)).not.toContain("abcd");
  });
});
