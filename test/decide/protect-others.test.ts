import { expect, test } from "@jest/globals";
import { NetworkIndex } from "../../src/address/ranges.ts";
import { OthersIndex } from "../../src/decide/protect-others.ts";
import { entry } from "../support/builders/gathered.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";

test("finds exactly the entries of other namespaces, like one index per namespace", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seededRandom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const anEntry = () => entry(random() < 0.3 ? `192.0.2.${below(4) * 64}/26` : `192.0.2.${below(256)}`);
    const namespaces = Array.from({ length: 1 + below(9) }, (_, index) => `team-${index}`);
    const aNamespace = (): string => namespaces[below(namespaces.length)] ?? "";
    const entries = Array.from({ length: below(30) }, () => ({ entry: anEntry(), namespace: aNamespace() }));
    for (const namespace of [...namespaces, "nobody"]) {
      const others = new NetworkIndex(entries.filter((of) => of.namespace !== namespace).map((of) => of.entry));
      const asked = anEntry();
      const index = new OthersIndex(entries, [asked]);
      expect([seed, index.overlapsOthers(asked, namespace)]).toStrictEqual([
        seed,
        others.overlaps(asked) !== undefined,
      ]);
    }
  }
});
