import { describe, expect, test } from "@jest/globals";
import {
  networkIdentity,
  parseNetwork,
  spellEntry,
  type SpellingMode,
  spellingModes,
} from "../../src/simulator/network.ts";

function identityOf(text: string): string | undefined {
  const network = parseNetwork(text);
  return network === undefined ? undefined : networkIdentity(network);
}

function spell(text: string, mode: SpellingMode): string {
  const network = parseNetwork(text);
  return network === undefined ? "(bad format)" : spellEntry(text, network, mode);
}

describe("two spellings of one network are one entry", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1/32"],
    ["10.1.2.3/8", "10.0.0.0/8"],
    ["2001:db8::1", "2001:0DB8:0000:0000:0000:0000:0000:0001/128"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:db8:ffff::/32", "2001:db8::/32"],
    ["::ffff:192.0.2.1", "::FFFF:c000:201"],
    ["::", "0:0:0:0:0:0:0:0/128"],
    ["1::", "1:0::"],
    ["2001:db8::1/0", "::/0"],
  ])("%s and %s", (one, other) => {
    expect(identityOf(one)).toBeDefined();
    expect(identityOf(one)).toBe(identityOf(other));
  });

  test.each([
    ["192.0.2.1", "192.0.2.2"],
    ["10.0.0.0/8", "10.0.0.0/9"],
    ["::1", "1::"],
    ["0.0.0.0/0", "::/0"],
    ["192.0.2.1", "::ffff:192.0.2.1"],
    ["2001:db8::1:0", "2001:db8::1"],
  ])("but %s and %s are not", (one, other) => {
    expect(identityOf(one)).toBeDefined();
    expect(identityOf(other)).toBeDefined();
    expect(identityOf(one)).not.toBe(identityOf(other));
  });
});

test("every mode spells the same network, and Mixed uses more than one mode", () => {
  const entries = Array.from({ length: 40 }, (_, index) => `2001:db8:${(index + 10).toString(16)}::1/64`);
  for (const mode of spellingModes) {
    for (const entry of entries) expect(identityOf(spell(entry, mode))).toBe(identityOf(entry));
  }
  const styles = entries.map((entry) => spell(entry, "Mixed").replaceAll(/[0-9a-f]+/gu, "x"));
  expect(new Set(styles).size).toBeGreaterThan(1);
});
