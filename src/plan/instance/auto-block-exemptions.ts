// The exemptions from the automatic blocks of one instance, based on everything that is declared for it.
import type { Entry } from "../../address/entry.ts";
import type { Gathered } from "../../model/gathered.ts";
import { compileExemptions } from "../lists/exemptions.ts";
import { exemptionOf } from "../lists/exemptions.ts";
import type { Exemption } from "../lists/exemptions.ts";
import { compileOrigins } from "../origins/desired-origins.ts";
import { compileDesired, guardsIn } from "./desired.ts";
import { originsOf } from "./draft-auto-block.ts";

/**
 * Why an entry must not be blocked automatically; undefined if it may be.
 *
 * @param block its own exemptions count, and so do the origins of its namespace
 */
export function exemptionsIn(
  gathered: Gathered,
  block: { readonly namespace: string; readonly exempt: readonly string[] },
  nowMs: number,
): (entry: Entry) => Exemption | undefined {
  const allowing = { ...gathered, rules: gathered.rules.filter(({ rule }) => rule.action === "Allow") };
  const { lists } = compileDesired(allowing, nowMs);
  const exemptions = compileExemptions({
    guards: guardsIn(gathered, compileOrigins(gathered).compiled),
    exempt: block.exempt,
    allowed: lists.allowlist.keys(),
    origins: originsOf(gathered, block.namespace),
  });
  return (entry) => exemptionOf(exemptions, entry);
}
