import { describe, expect, test } from "@jest/globals";
import { jsonLineOf } from "../../src/model/json-line.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import { OwnKeys } from "../../src/waf/own-keys.ts";
import { readLogAnswer } from "../../src/waf/answer.ts";
import { parseExactly } from "../../src/waf/exact-numbers.ts";
import { row } from "../support/fakes/scripted-logs.ts";

const texts = [
  "12345678901234567890",
  "-9223372036854775808",
  "9007199254740993",
  "0.1234567890123456789",
  "1e400",
  "123",
  "1.5",
  '"12345678901234567890"',
];

describe("A JSON number", () => {
  test.each(texts)("%s stays unchanged, in a list, in an object and by itself", (text) => {
    for (const json of [`[${text}]`, `{"a":{"b":${text}}}`]) {
      expect(JSON.stringify(parseExactly(json, new Set()))).toBe(json);
    }
  });

  test("that is used in calculations stays a number", () => {
    expect(parseExactly('{"size": 9223372036854775808}', new Set(["size"]))).toStrictEqual({ size: 2 ** 63 });
  });
});

describe("A log row with a 64-bit field", () => {
  const keys = new OwnKeys(new ApiKey("9876543210987654321"));
  const page = (id: string) =>
    `{"_scroll_id":null,"hits":{"total":{"value":1},"hits":[${jsonLineOf(row("/a")).slice(0, -1)},"request_id":${id},"list":[${id}]}]}}`;

  test("is passed on exactly", () => {
    const answer = readLogAnswer(page("12345678901234567890"), keys, String);
    const [entry] = answer.ok ? answer.value.entries : [];
    expect(jsonLineOf(entry ?? {})).toContain('"request_id":12345678901234567890,"list":[12345678901234567890]}');
  });

  test("contains no API key that is a number", () => {
    const answer = readLogAnswer(page("9876543210987654321"), keys, String);
    expect(answer).toMatchObject({ ok: true });
    expect(JSON.stringify(answer)).not.toContain("9876543210987654321");
  });
});
