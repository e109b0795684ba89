import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { ApiKey, apiKeyLengthMax, validateApiKey } from "../../src/model/api-key.ts";
import { caseCount } from "../support/builders/case-count.ts";

const secret = `K3y/+%"&<é=7f3a9c0d`;
const key = new ApiKey(secret);

function percentEncodeAll(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

function unicodeEscapeAll(text: string): string {
  return text.replaceAll(/[^]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function htmlEscape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll("/", "&#x2F;");
}

/** Matches both letter cases of the hexadecimal digits in percent-encoding. */
function mixCase(text: string, upper: readonly boolean[]): string {
  let position = 0;
  const pick = (digits: string): string => (upper[position++ % upper.length] === true ? digits.toUpperCase() : digits);
  return text.replaceAll(
    /%([0-9a-f])([0-9a-f])/gi,
    (_, a: string, b: string) => `%${pick(a.toLowerCase())}${pick(b.toLowerCase())}`,
  );
}

const spellings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  "as a URL component": encodeURIComponent,
  "percent-encoded in lower case": (text) => encodeURIComponent(text).toLowerCase(),
  "percent-encoded throughout": percentEncodeAll,
  "percent-encoded twice": (text) => encodeURIComponent(encodeURIComponent(text)),
  "as form data": (text) => new URLSearchParams({ k: text }).toString().slice(2),
  "in JSON": (text) => JSON.stringify(text).slice(1, -1),
  "in JSON that is in JSON": (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  "in JSON with slashes escaped": (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll("/", String.raw`\/`),
  "in JSON with every character escaped": unicodeEscapeAll,
  "in HTML": htmlEscape,
  "in HTML of JSON": (text) => htmlEscape(JSON.stringify(text).slice(1, -1)),
  "as a path": encodeURI,
  "as a path in HTML": (text) => htmlEscape(encodeURI(text)),
  "as a path in JSON with slashes escaped": (text) =>
    JSON.stringify(encodeURI(text))
      .slice(1, -1)
      .replaceAll("/", String.raw`\/`),
  "in a JSON of a URL": (text) => JSON.stringify(`https://h/clear/${encodeURIComponent(text)}`),
  "in base64": (text) => Buffer.from(text).toString("base64"),
  "in base64url": (text) => Buffer.from(text).toString("base64url"),
  "in base64 with a line break": (text) => Buffer.from(`${text}\n`).toString("base64"),
  "in base64 of basic authentication": (text) => Buffer.from(`u:${text}`).toString("base64"),
  "in base64 of a longer text": (text) => Buffer.from(`ab${text}cd`).toString("base64url"),
};

/** All forms from which a reader could recover the key. */
function leaks(text: string, hidden: string): readonly string[] {
  return Object.entries(spellings)
    .filter(([, spell]) => text.toLowerCase().includes(spell(hidden).toLowerCase()))
    .map(([name]) => name);
}

describe("redaction", () => {
  test.each(Object.entries(spellings))("finds the key %s", (_, spell) => {
    const redacted = key.redact(`before ${spell(secret)} after`);
    expect(redacted).toContain("[api key]");
    expect(redacted).toMatch(/^before .*after$/);
    expect(leaks(redacted, secret)).toStrictEqual([]);
  });

  test("leaves every other string unchanged", () => {
    const text = `GET /api/blocklist_ips?api_key=%20 "x" \\u0041 &amp; 2001:db8::/32`;
    expect(key.redact(text)).toBe(text);
    expect(key.occursIn(text)).toBe(false);
  });

  test("replaces every occurrence, also in different spellings", () => {
    const text = `${secret} and ${encodeURIComponent(secret)} and ${Buffer.from(secret).toString("base64")}`;
    expect(key.redact(text)).toBe("[api key] and [api key] and [api key]");
  });

  test("treats no string as a replacement pattern and no key as a regular expression", () => {
    const awkward = new ApiKey(String.raw`$&.*(a|b)[^]{2}\d^`);
    expect(awkward.redact(String.raw`x $&.*(a|b)[^]{2}\d^ y`)).toBe("x [api key] y");
  });

  test("finds a short key only as a separate word", () => {
    const short = new ApiKey("test");
    expect(short.redact("the latest testing of contest")).toBe("the latest testing of contest");
    expect(short.redact(`/clear/test?api_key=TEST&x="test"`)).toBe(`/clear/[api key]?api_key=[api key]&x="[api key]"`);
    expect(short.redact(String.raw`%20test%20 \ntest\n`)).toBe(String.raw`%20[api key]%20 \n[api key]\n`);
  });

  test("finds a letter that is ASCII only in lowercase, such as the Kelvin sign", () => {
    const kelvin = new ApiKey("\u{212a}ey\u{212a}~ab9~\u{212a}xyz");
    for (const spell of Object.values(spellings)) {
      expect(kelvin.redact(spell("\u{212a}ey\u{212a}~ab9~\u{212a}xyz"))).toContain("[api key]");
    }
  });

  test("does nothing for an empty key", () => {
    expect(new ApiKey("").redact("some text")).toBe("some text");
  });

  test("misses no spelling, whatever the key and the surrounding text", () => {
    const keys = fc
      .string({ minLength: 8, maxLength: 40, unit: "binary" })
      .filter((text) => !"[api key]".includes(text));
    const around = fc.string({ maxLength: 20, unit: "grapheme" });
    const spelling = fc.constantFrom(...Object.values(spellings));
    const cases = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        keys.filter((text) => text.isWellFormed()),
        around,
        around,
        spelling,
        cases,
        (text, before, after, spell, upper) => {
          const spelt = mixCase(spell(text), upper);
          const redacted = new ApiKey(text).redact(`${before} ${spelt} ${after}`);
          expect(redacted).toContain("[api key]");
          expect(redacted).not.toContain(spelt);
        },
      ),
      { numRuns: caseCount(1500) },
    );
  });

  test("takes time proportional to the length of the string, even for crafted strings and keys", () => {
    const confusing: readonly (readonly [string, string])[] = [
      [`${"\\".repeat(100)}x`, "\\".repeat(200_000)],
      ["%25".repeat(14), "%25".repeat(60_000)],
      [`${"&amp;".repeat(8)}x`, "&amp;".repeat(40_000)],
      [`${"&".repeat(30)}x`, "&amp;amp;".repeat(20_000)],
      [`a${"\\\\".repeat(20)}b`, "a\\".repeat(100_000)],
    ];
    const before = process.cpuUsage();
    for (const [awkward, text] of confusing) expect(new ApiKey(awkward).redact(text).length).toBeGreaterThan(0);
    // A pattern with unbounded backtracking would take hours.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(30_000);
  });
});

describe("an API key", () => {
  test("is not printed by accident", () => {
    for (const text of [String(key), JSON.stringify({ key }), inspect(key), inspect({ key }, { showHidden: true })]) {
      expect(text).toContain("[api key]");
      expect(leaks(text, secret)).toStrictEqual([]);
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
    ["\n", "is empty"],
    [" \n ", "contains only whitespace"],
    [" abcd1234", "begins with whitespace"],
    ["abcd1234 ", "ends with more whitespace"],
    ["abcd1234\n\n", "ends with more whitespace"],
    ["abcd 1234", "contains whitespace"],
    ["abcd\n1234", "contains whitespace"],
    ["abcd\u00001234", "contains a control character or an invisible character"],
    ["abcd\u200B1234", "contains a control character or an invisible character"],
    ["abcd\uFFFD1234", "is not text"],
    ["abcd\uD8001234", "is not text"],
    ["abc", "is too short"],
    ["x".repeat(apiKeyLengthMax + 1), "is too long"],
  ])("refuses %j: it %s", (text, problem) => {
    const result = validateApiKey(text);
    expect(result).toStrictEqual({ ok: false, problem: expect.stringContaining(problem) });
    if (text.includes("abcd")) expect(JSON.stringify(result)).not.toContain("abcd");
  });
});
