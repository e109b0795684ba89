import { expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { readObservedEntry } from "../../src/model/entry.ts";
import { sortByEntry } from "../../src/model/entry-order.ts";
import { anyNetwork, ipv4Network, written } from "../support/builders/arbitraries.ts";

const networks = fc.oneof(ipv4Network, ipv4Network, anyNetwork);

test("Entries of any family, length and number are sorted as strings", () => {
  fc.assert(
    fc.property(fc.array(networks, { minLength: 0, maxLength: 700, size: "max" }), (drawn) => {
      const texts = [...drawn.map(written), "nonsense", "1.2.3", "%"];
      const entries = [...new Set(texts.map(readObservedEntry))];
      const sorted = sortByEntry(entries.map((entry) => ({ entry }))).map(({ entry }) => entry);
      expect(sorted).toStrictEqual(entries.toSorted());
    }),
    { numRuns: 50 },
  );
});
