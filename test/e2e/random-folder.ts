// Folders whose rules and origin change at random while processes that work on them are killed.
import { decodeInventory } from "../../src/records/inventory-text.ts";
import { originDocument, ruleDocument, type WafFolder } from "../support/worlds/waf-folder.ts";

export interface RandomRules {
  readonly names: readonly string[];
  /** All addresses that a rule can have. */
  readonly poolSize: number;
  /** A rule has at least the first number of addresses, and fewer than the second one. */
  readonly counts: readonly [number, number];
}

/** Declares each rule anew, and the origin. @returns all declared addresses */
export async function declareAtRandom(
  { files }: WafFolder,
  { names, poolSize, counts: [countMin, countEnd] }: RandomRules,
  random: () => number,
): Promise<Set<string>> {
  const wanted = new Set<string>();
  for (const name of names) {
    const from = Math.floor(random() * poolSize);
    const count = countMin + Math.floor(random() * (countEnd - countMin));
    const addresses = Array.from({ length: count }, (_, index) => `203.0.113.${(from + index) % poolSize}`);
    for (const address of addresses) wanted.add(address);
    await files.write(`${name}.yaml`, ruleDocument(name, { addresses }));
  }
  const type = random() < 0.5 ? "Alternate" : "Backup";
  await files.write("origin.yaml", originDocument("spare", "spare.shop.example", type));
  return wanted;
}

/** The entries of the blocklist in a stored inventory, which begins behind the lines that say what it is; none if there is no file. */
export function ownedIn(file: string): Set<string> {
  if (file === "") return new Set();
  const decoded = decodeInventory(file.slice(file.indexOf("\n{") + 1));
  if (!decoded.ok) throw new Error(decoded.problem);
  return new Set(decoded.inventory.entries.blocklist.keys());
}
