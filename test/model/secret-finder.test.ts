import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";

/** The maximum length of an error body, which is searched for the key before it is shown. */
const bodyLength = 65_536;
const timeMsMax = 50;

function filled(unit: string, length = bodyLength): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}

/** The lowest processor time of a few runs: other work of the machine can only increase it. */
function leastMs(act: () => void): number {
  const runs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    act();
    return process.cpuUsage(before).user / 1000;
  });
  return Math.min(...runs);
}

const dashes = "-".repeat(1000);
const hostile: Readonly<Record<string, readonly [key: string, body: string]>> = {
  "dashes and a letter, in backslashes": [`${dashes}b`, `${filled(String.raw`\\\\\\-`)}b`],
  "dashes and a letter, in dashes": [`${dashes}b`, filled("-")],
  "a letter and dashes, in dashes": [`b${dashes}`, filled("-")],
  "dashes around a letter, in dashes": [`${dashes.slice(500)}b${dashes.slice(500)}`, filled("-")],
  "ampersands, in entities": [`${"&".repeat(1000)}b`, `${filled("&amp;")}b`],
  "ampersands, in entities of entities": [`${"&".repeat(1000)}b`, `${filled("&amp;amp;amp;")}b`],
  "a, b and an escape at the end": [`${"a".repeat(1000)}b`, `${filled("a", bodyLength - 4)}%61`],
  "percent signs": ["%25".repeat(300), filled("%25")],
  "percent signs of percent signs": [`${"%".repeat(1000)}x`, `%${filled("25")}`],
  backslashes: [`${"\\".repeat(1000)}x`, filled("\\")],
  "pairs of backslashes": [`a${"\\\\".repeat(500)}b`, filled("a\\")],
  "escapes of JSON": [`${"\u00e9".repeat(1000)}x`, filled(String.raw`\u00e9`)],
  "bytes of characters that are cut": [`${"\u00e9".repeat(1000)}x`, filled("%C3")],
  "one letter in base64": [`${"i".repeat(1000)}x`, filled("aWlp")],
  "five signs with names, and no end": [`${`a&<"'`.repeat(200)}c`, `${filled(`a&<"'`)}c`],
  "two letters in turn": [`${"ab".repeat(500)}c`, `${filled("ab")}c`],
  "the key repeatedly": ["k3y-of-the-waf-0123456789", filled("k3y-of-the-waf-0123456789 ")],
  "half of the key repeatedly": ["k3y-of-the-waf-0123456789", filled("k3y-of-the-waf-")],
};

describe(`The search for a key in a body of 64 KiB takes at most ${timeMsMax} ms:`, () => {
  test.each(Object.entries(hostile))("%s", (_, [text, body]) => {
    const key = new ApiKey(text);
    key.redact("compiled");
    expect(leastMs(() => void key.redact(body))).toBeLessThan(timeMsMax);
    expect(leastMs(() => void key.occursIn(body))).toBeLessThan(timeMsMax);
  });
});

test.each([
  ["escaped six times", (text: string) => filled6(text, encodeURIComponent)],
  ["in HTML of JSON of a URL of JSON", (text: string) => html(json(encodeURIComponent(json(text))))],
  ["by the codes of JavaScript", (text: string) => text.replaceAll(/[^a-z0-9]/gi, (sign) => hex(sign, String.raw`\x`))],
  [
    "by decimal codes with zeros in front",
    (text: string) => text.replaceAll("/", "&#00047;").replaceAll("+", "&#043;"),
  ],
])("A key is found %s, and only it is replaced", (_, spell) => {
  const key = new ApiKey(`K3y/+%"&<=7f3a9c0d`);
  const text = `%2f before ${spell(`K3y/+%"&<=7f3a9c0d`)} &amp; after \\n`;
  expect(key.occursIn(text)).toBe(true);
  expect(key.redact(text)).toBe("%2f before [api key] &amp; after \\n");
});

test("A key that looks like an escape is found unchanged and partly escaped", () => {
  const key = new ApiKey("a&amp;%41bcdefgh");
  for (const text of ["a&amp;%41bcdefgh", "a&amp;%2541bcdefgh", "a%26amp%3B%2541bcdefgh", "a&amp;amp;%41bcdefgh"]) {
    expect(key.redact(`<${text}>`)).toBe("<[api key]>");
  }
});

test("A key is found directly after a character that turns its first one into an escape", () => {
  expect(new ApiKey("n7abc/0123456789").redact(String.raw`C:\\n7abc%2F0123456789`)).not.toContain("0123456789");
  expect(new ApiKey("25ab0123456789").redact("%25ab0123456789")).toBe("%[api key]");
});

function filled6(text: string, encode: (text: string) => string): string {
  return Array.from({ length: 6 }).reduce<string>((encoded) => encode(encoded), text);
}

function json(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function html(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

function hex(sign: string, mark: string): string {
  return `${mark}${sign.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
