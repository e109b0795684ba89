import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { ApiKey, headerValueLengthMax, secretsIn } from "../../src/model/api-key.ts";
import { Redactor, excerpt, excerptLengthMax, keysOfNamespaceMax } from "../../src/model/redactor.ts";
import { caseCount } from "../support/builders/case-count.ts";

type Spell = (text: string) => string;

const json: Spell = (text) => JSON.stringify(text).slice(1, -1);
const inAscii: Spell = (text) =>
  text.replaceAll(/[^\x20-\x7e]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const html: Spell = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const base64: Spell = (text) => Buffer.from(text).toString("base64");
const base64Url: Spell = (text) => Buffer.from(text).toString("base64url");

/** The letter case of the digits does not matter. */
const escaped: Readonly<Record<string, Spell>> = {
  "as a URL component": encodeURIComponent,
  "as form data": (text) => new URLSearchParams({ k: text }).toString().slice(2),
  "as a path": encodeURI,
  "in JSON with ASCII letters only": (text) => inAscii(json(text)),
};
const spellings: Readonly<Record<string, Spell>> = {
  ...escaped,
  plain: (text) => text,
  "in JSON": json,
  "in JSON with slashes escaped": (text) => json(text).replaceAll("/", String.raw`\/`),
  "in HTML": html,
  "in HTML with slashes escaped": (text) => html(text).replaceAll("'", "&#x27;").replaceAll("/", "&#x2F;"),
};
/** The key starts at each of the three positions in a group of base64 digits. */
const wrapped: Readonly<Record<string, Spell>> = {
  "in base64": base64,
  "in base64 for URLs": base64Url,
  "in base64 with a line break": (text) => base64(`${text}\n`),
  "in base64 of basic authentication": (text) => base64(`user:${text}`),
  "in base64 after one byte": (text) => base64Url(`a${text}cd`),
  "in base64 after two bytes": (text) => base64(`ab${text}`),
};

const awkward = `K3y/+%"&<é=7f3a9c0d`;
const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));
const secrets = fc
  .string({ minLength: 8, maxLength: 40, unit: fc.constantFrom(...printable, "é", "€", "\u{1F600}", "\u{212a}") })
  .filter((text) => text.length >= 8);
/** Shorter than a part of a key that must not remain. */
const around = fc.string({ maxLength: 4, unit: "grapheme" });

function redactorOf(...keys: readonly string[]): Redactor {
  const redactor = new Redactor();
  for (const key of keys) redactor.add(new ApiKey(key));
  return redactor;
}

/** All parts of eight characters that the string has in common with the spelled key. */
function remains(text: string, spelled: string): readonly string[] {
  return Array.from({ length: Math.max(0, spelled.length - 7) }, (_, start) => spelled.slice(start, start + 8)).filter(
    (part) => text.includes(part),
  );
}

/** The digits of escapes in the given letter case. */
function inCase(text: string, isUpper: readonly boolean[]): string {
  let position = 0;
  return text.replaceAll(/%[0-9a-f]{2}|\\u[0-9a-f]{4}/gi, (escape) =>
    escape.replaceAll(/[a-f]/gi, (digit) =>
      isUpper[position++ % isUpper.length] === true ? digit.toUpperCase() : digit.toLowerCase(),
    ),
  );
}

describe("redaction", () => {
  test("finds a key in every spelling at any position, and replaces nothing else", () => {
    const cases = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        secrets,
        around,
        around,
        fc.constantFrom(...Object.keys(spellings)),
        cases,
        (key, left, right, name, isUpper) => {
          const spell = spellings[name] ?? json;
          const spelled = escaped[name] === undefined ? spell(key) : inCase(spell(key), isUpper);
          expect(redactorOf(key).redact(`${left} ${spelled} ${right}`)).toBe(`${left} [api key] ${right}`);
        },
      ),
      { numRuns: caseCount(10_000) },
    );
  });

  test("leaves no part of eight characters of several keys, some of which contain others", () => {
    const every = { ...spellings, ...wrapped };
    const said = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...Object.keys(every)), around), { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(secrets, { minLength: 1, maxLength: 3 }), around, said, (some, left, parts) => {
        const keys = [
          ...some,
          `${some[0]}${some.at(-1)}`,
          ...some.map((key) => Array.from(key).slice(2, -2).join("")),
        ].filter((key) => key.length >= 8);
        const shown = parts.map(([index, name, next]) => {
          const key = keys[index % keys.length] ?? "";
          return { spelled: every[name]?.(key) ?? "", next };
        });
        // More keys than are searched for without a look-up.
        const others = Array.from({ length: 10 }, (_, index) => `another-key-${index}`);
        const text = `${left} ${shown.map(({ spelled, next }) => `${spelled} ${next} `).join("")}`;
        for (const redactor of [redactorOf(...keys), redactorOf(...keys, ...others)]) {
          const redacted = redactor.redact(text);
          for (const { spelled } of shown) expect(remains(redacted, spelled)).toStrictEqual([]);
        }
      }),
      { numRuns: caseCount(5_000) },
    );
  });

  test("finds a key beside one with a Kelvin sign", () => {
    expect(redactorOf("\u{212a}!K!!!!!!!!!", "K!!!!!!!").redact(" K!!!!!!! ")).toBe(" [api key] ");
  });

  test("leaves every other string unchanged", () => {
    const text = `GET /api/blocklist_ips?api_key=%20 "x" \\u0041 &amp; 2001:db8::/32`;
    expect(redactorOf(awkward).redact(text)).toBe(text);
    fc.assert(
      fc.property(
        fc.array(secrets, { maxLength: 12 }),
        around,
        fc.constantFrom(...Object.values(spellings)),
        (keys, other, spell) => {
          const harmless = spell(`other:${other}`);
          expect(redactorOf(...keys).redact(harmless)).toBe(harmless);
        },
      ),
      { numRuns: caseCount(3_000) },
    );
  });

  test.each(Object.entries(wrapped))("finds a key %s", (_, spell) => {
    const redacted = redactorOf(awkward).redact(`before ${spell(awkward)} after`);
    expect(redacted).toMatch(/^before .*\[api key\].* after$/);
    expect(remains(redacted, spell(awkward))).toStrictEqual([]);
  });

  test("treats no string as a replacement pattern and no key as a regular expression", () => {
    expect(redactorOf(String.raw`$&.*(a|b)[^]{2}\d^`).redact(String.raw`x $&.*(a|b)[^]{2}\d^ y`)).toBe("x [api key] y");
  });

  test("finds a short key only as a separate word", () => {
    const short = redactorOf("test");
    expect(short.redact("the latest testing of contest")).toBe("the latest testing of contest");
    expect(short.redact(`/clear/test?api_key=TEST&x="test"`)).toBe(`/clear/[api key]?api_key=[api key]&x="[api key]"`);
  });

  test("does nothing for an empty key", () => {
    expect(redactorOf("").redact("some text")).toBe("some text");
  });
});

describe("a redactor", () => {
  test("finds each of many keys in any spelling, and is not slowed down by their number", () => {
    const redactor = new Redactor();
    const keys = Array.from(
      { length: keysOfNamespaceMax },
      (_, index) => `key-of/waf+${index}-${(index * 7919).toString(36)}`,
    );
    for (const key of keys) redactor.add(new ApiKey(key));
    redactor.add(new ApiKey("ab-c"));
    for (const key of keys.filter((_, index) => index % 97 === 1)) {
      for (const spelled of [
        key,
        key.toUpperCase(),
        encodeURIComponent(key),
        Buffer.from(`u:${key}`).toString("base64"),
      ]) {
        expect(redactor.redact(`<${spelled}>`)).not.toMatch(/waf|d2Fm/iu);
      }
    }
    expect(redactor.redact("x ab-c y")).toBe("x [api key] y");
    const text = "The list of shop.example could not be read: a sentence for people. ".repeat(5);
    redactor.redact(text);
    const before = process.cpuUsage();
    for (let count = 0; count < 1000; count += 1) redactor.redact(text);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  });

  test("is not slowed down by crafted keys of others", () => {
    const redactor = new Redactor();
    for (let index = 0; index < keysOfNamespaceMax; index += 1) {
      redactor.add(new ApiKey(`${"-".repeat(40)}${index}${"-".repeat(40)}`));
    }
    const text = `%41${"-".repeat(61)}`.repeat(excerptLengthMax / 50);
    redactor.redact(text);
    const before = process.cpuUsage();
    redactor.redact(text);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  });

  test("adds even the longest keys quickly", () => {
    const redactor = new Redactor();
    const before = process.cpuUsage();
    for (let index = 0; index < 100; index += 1) redactor.add(new ApiKey(`${"-".repeat(8000)}${index}`));
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  });

  test("forgets no keys of other namespaces", () => {
    const redactor = new Redactor();
    for (const key of ["a-former-key-of-shop", "the-key-of-both"]) redactor.add(new ApiKey(key), "shop");
    redactor.add(new ApiKey("the-key-of-both"), "hostile");
    for (let index = 1; index <= keysOfNamespaceMax + 1; index += 1) {
      redactor.add(new ApiKey(`hostile-${index}-key`), "hostile");
    }
    expect(redactor.redact("a-former-key-of-shop the-key-of-both hostile-1-key hostile-2-key")).toBe(
      "[api key] [api key] hostile-1-key [api key]",
    );
  });

  test("forgets the key that was added least recently when there are too many", () => {
    const redactor = new Redactor();
    for (let index = 0; index < keysOfNamespaceMax; index += 1) redactor.add(new ApiKey(`key-number-${index}-`));
    redactor.add(new ApiKey("key-number-0-"));
    redactor.add(new ApiKey("one-key-too-many"));
    expect(redactor.redact("key-number-0- key-number-1- one-key-too-many")).toBe("[api key] key-number-1- [api key]");
  });
});

test("An excerpt is the whole string up to the limit, and ends between two words if the string is longer", () => {
  const short = "a ".repeat(excerptLengthMax / 2);
  expect(excerpt(short)).toBe(short);
  const cut = `${"a ".repeat(excerptLengthMax / 2 - 4)}a-key-that-would-be-cut`;
  expect(excerpt(cut)).toBe(`${"a ".repeat(excerptLengthMax / 2 - 4)}…`);
  expect(excerpt("a".repeat(excerptLengthMax + 1))).toBe("…");
});

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
