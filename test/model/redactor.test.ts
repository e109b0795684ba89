import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import { firstWords, searchedLengthMax } from "../../src/model/first-words.ts";
import { Redactor, keysOfOwnerMax, redactorKeysMax } from "../../src/model/redactor.ts";

describe("a redactor", () => {
  test("removes all of its keys from a string", () => {
    const redactor = new Redactor();
    expect(redactor.redact("one-key-of-two")).toBe("one-key-of-two");
    redactor.add(new ApiKey("first-key"));
    redactor.add(new ApiKey("second-key"));
    expect(redactor.redact("first-key, second%2Dkey, third-key")).toBe("[api key], [api key], third-key");
  });

  test("replaces a key as a whole if it contains another one", () => {
    const redactor = new Redactor();
    redactor.add(new ApiKey("inner-key"));
    redactor.add(new ApiKey("outer-inner-key-outer"));
    expect(redactor.redact("outer-inner-key-outer")).toBe("[api key]");
  });

  test("finds each of many keys in any spelling, and is not slowed down by their number", () => {
    const redactor = new Redactor();
    const keys = Array.from(
      { length: redactorKeysMax },
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

  test("is not slowed down by the keys of others if letters are escaped", () => {
    const redactor = new Redactor();
    for (let index = 0; index < redactorKeysMax; index += 1) {
      redactor.add(new ApiKey(`${"-".repeat(40)}b${index}-${(index * 7919).toString(36).padStart(4, "x")}`));
    }
    const text = `%41${"-".repeat(61)}`.repeat(searchedLengthMax / 64);
    redactor.redact(text);
    const before = process.cpuUsage();
    redactor.redact(text);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(100);
  });

  test("forgets only keys of the owner that has too many", () => {
    const redactor = new Redactor();
    redactor.add(new ApiKey("a-former-key-of-shop"), { namespace: "shop", name: "main" });
    redactor.add(new ApiKey("the-key-of-shop"), { namespace: "shop", name: "main" });
    redactor.add(new ApiKey("the-key-of-both"), { namespace: "shop", name: "main" });
    redactor.add(new ApiKey("the-key-of-both"), { namespace: "hostile", name: "main" });
    const hostileKeys = redactorKeysMax + 1;
    for (let index = 0; index < hostileKeys; index += 1) {
      redactor.add(new ApiKey(`hostile-${index}-key`), { namespace: "hostile", name: "main" });
    }
    expect(redactor.redact("a-former-key-of-shop the-key-of-shop the-key-of-both")).toBe(
      "[api key] [api key] [api key]",
    );
    const [known, forgotten] = [hostileKeys - keysOfOwnerMax, hostileKeys - keysOfOwnerMax - 1];
    expect(redactor.redact(`hostile-${known}-key hostile-${forgotten}-key`)).toBe(`[api key] hostile-${forgotten}-key`);
  });

  test("adds even the longest keys quickly", () => {
    const redactor = new Redactor();
    const before = process.cpuUsage();
    for (let index = 0; index < 100; index += 1) redactor.add(new ApiKey(`${"-".repeat(8000)}${index}`));
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  });

  test("forgets keys of the namespace that has the most, if there are too many in all", () => {
    const redactor = new Redactor();
    redactor.add(new ApiKey("a-former-key-of-shop"), { namespace: "shop", name: "main" });
    redactor.add(new ApiKey("the-key-of-both"), { namespace: "shop", name: "main" });
    for (let index = 0; index < 2 * redactorKeysMax; index += 1) {
      const owner = { namespace: "hostile", name: `${Math.floor(index / keysOfOwnerMax)}` };
      redactor.add(new ApiKey(index === 0 ? "the-key-of-both" : `hostile-${index}-key`), owner);
    }
    const [oldest, newest] = [redactorKeysMax + 1, 2 * redactorKeysMax - 1];
    expect(redactor.redact(`a-former-key-of-shop hostile-${oldest - 1}-key hostile-${newest}-key`)).toBe(
      `[api key] hostile-${oldest - 1}-key [api key]`,
    );
  });

  test("forgets the key that was added least recently when there are too many", () => {
    const redactor = new Redactor();
    for (let index = 0; index < redactorKeysMax; index += 1) redactor.add(new ApiKey(`key-number-${index}-`));
    redactor.add(new ApiKey("key-number-0-"));
    redactor.add(new ApiKey("one-key-too-many"));
    expect(redactor.redact("key-number-0- key-number-1- one-key-too-many")).toBe("[api key] key-number-1- [api key]");
  });
});

describe("the beginning of a string that is searched for all keys", () => {
  test("is the whole string up to the limit, and ends between two words if it is longer", () => {
    const short = "a ".repeat(searchedLengthMax / 2);
    expect(firstWords(short)).toBe(short);
    const key = "a-key-that-would-be-cut";
    expect(firstWords(`${"a ".repeat(searchedLengthMax / 2 - 4)}${key}`)).toBe(
      `${"a ".repeat(searchedLengthMax / 2 - 5)}a …`,
    );
    expect(firstWords("a".repeat(searchedLengthMax + 1))).toBe(" …");
  });
});
