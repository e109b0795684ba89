// The exemptions of automatic blocks of one instance, from everything that is declared for it.
import type { Gathered } from "../../model/gathered.ts";
import { compileExemptions } from "../lists/exemptions.ts";
import type { Exemptions } from "../lists/exemptions.ts";
import { compileOrigins } from "../origins/desired-origins.ts";
import { compileDesired, guardsIn } from "./desired.ts";
import { originsOf } from "./draft-auto-block.ts";

/** @param block its own exemptions, and its namespace, whose origins it must not block either */
export function exemptionsIn(
  gathered: Gathered,
  block: { readonly namespace: string; readonly exempt: readonly string[] },
  nowMs: number,
): Exemptions {
  const allowing = { ...gathered, rules: gathered.rules.filter(({ rule }) => rule.action === "Allow") };
  const { lists } = compileDesired(allowing, nowMs);
  return compileExemptions({
    guards: guardsIn(gathered, compileOrigins(gathered).compiled),
    exempt: block.exempt,
    allowed: lists.allowlist.keys(),
    origins: originsOf(gathered, block.namespace),
  });
}
