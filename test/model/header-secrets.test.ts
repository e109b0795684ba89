import { expect, test } from "@jest/globals";
import { headerValueLengthMax, secretsIn } from "../../src/model/header-secrets.ts";

test.each([
  ["Bearer abcdefgh.ijkl", ["Bearer abcdefgh.ijkl", "abcdefgh.ijkl"]],
  ["abcdefgh,ijklmnop", ["abcdefgh,ijklmnop", "abcdefgh", "ijklmnop"]],
  [
    `Basic ${Buffer.from("me:long-password").toString("base64")}`,
    ["Basic bWU6bG9uZy1wYXNzd29yZA==", "bWU6bG9uZy1wYXNzd29yZA==", "me:long-password", "long-password"],
  ],
  ["short", ["short"]],
  ["on", []],
])("The header value %j has the secrets %j", (value, secrets) => {
  expect(secretsIn(value)).toStrictEqual(secrets);
});

test("A header value of many words has a limited number of secrets, including the whole value", () => {
  const value = Array.from({ length: 500 }, (_, index) => `word-${index}-x`).join(",");
  expect(value.length).toBeLessThan(headerValueLengthMax);
  expect(secretsIn(value)).toHaveLength(16);
  expect(secretsIn(value)).toContain(value);
});
