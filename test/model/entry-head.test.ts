import { expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { headOf } from "../../src/model/entry-head.ts";
import { readObservedEntry } from "../../src/model/entry.ts";
import { anyNetwork, written } from "../support/builders/arbitraries.ts";

test.each([
  ["192.0.2.1", "ipv4", 32, 0xc0_00_02_01, 0xc0_00_02_01],
  ["192.0.2.0/24", "ipv4", 24, 0xc0_00_02_00, 0xc0_00_02_ff],
  ["0.0.0.0/0", "ipv4", 0, 0, 0xff_ff_ff_ff],
  ["255.255.255.255", "ipv4", 32, 0xff_ff_ff_ff, 0xff_ff_ff_ff],
  ["2001:db8::1", "ipv6", 128, 0x2001_0db8, 0x2001_0db8],
  ["2001:db8:1::/48", "ipv6", 48, 0x2001_0db8, 0x2001_0db8],
  ["2001::/23", "ipv6", 23, 0x2001_0000, 0x2001_01ff],
  ["2001::5", "ipv6", 128, 0x2001_0000, 0x2001_0000],
  ["::", "ipv6", 128, 0, 0],
  ["::1:0", "ipv6", 128, 0, 0],
  ["::/0", "ipv6", 0, 0, 0xff_ff_ff_ff],
] as const)(
  "The head of %s has its family, width and first 32 bits",
  (text, family, prefixLength, firstBits, lastBits) => {
    expect(headOf(readObservedEntry(text))).toStrictEqual({ family, prefixLength, firstBits, lastBits });
  },
);

test("The head of any network agrees with its parts", () => {
  fc.assert(
    fc.property(anyNetwork, (network) => {
      const { family, parts, prefixLength } = network;
      const [a = 0, b = 0, c = 0, d = 0] = parts;
      const firstBits = family === "ipv4" ? ((a * 256 + b) * 256 + c) * 256 + d : a * 65_536 + b;
      const width = 2 ** Math.max(0, 32 - prefixLength);
      const head = { family, prefixLength, firstBits, lastBits: firstBits + width - 1 };
      expect(headOf(readObservedEntry(written(network)))).toStrictEqual(head);
    }),
    { numRuns: 5_000 },
  );
});
