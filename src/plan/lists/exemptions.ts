// Determines which addresses must not be blocked automatically, for suggestions and automatic blocks. Reports name further exemptions.
// An entry is exempt if it shares a single address with something protected, because a wider block would include that address too.
import type { Entry } from "../../address/entry.ts";
import { parseDeclaredEntry } from "../../address/entry.ts";
import { networkOf } from "../../address/entry.ts";
import { NetworkIndex } from "../../address/ranges.ts";
import type { EntryGuards } from "./guards.ts";
import { specialPurposeObjection } from "./special-purpose.ts";

/**
 * - `Exempt`: `spec.exempt` of the WafAutoBlock. `Allowed`: an Allow entry. `NeverBlock`: `spec.guards.neverBlock` of the instance,
 *   or a declared origin. `Origin`: an origin of the WafAutoBlock's own namespace.
 * - `TooWide`, `SpecialPurpose`: the guards of the instance reject such entries.
 */
export type ExemptionKind = "Exempt" | "Allowed" | "NeverBlock" | "Origin" | "TooWide" | "SpecialPurpose";

export interface Exemption {
  readonly kind: ExemptionKind;
  /** The protected entry that it overlaps; undefined for `TooWide` and `SpecialPurpose`. */
  readonly by: Entry | undefined;
}

export interface Exemptions {
  readonly guards: EntryGuards;
  readonly exempt: NetworkIndex;
  readonly allowed: NetworkIndex;
  readonly origins: NetworkIndex;
}

export interface ExemptionBasis {
  readonly guards: EntryGuards;
  /** As users wrote them; invalid ones are ignored, because the schema has validated them. */
  readonly exempt: readonly string[];
  readonly allowed: Iterable<Entry>;
  /** The hosts of origins in addition to those that the guards protect. */
  readonly origins: readonly string[];
}

export function compileExemptions({ guards, exempt, allowed, origins }: ExemptionBasis): Exemptions {
  return {
    guards,
    exempt: new NetworkIndex(entriesIn(exempt)),
    allowed: new NetworkIndex(allowed),
    origins: new NetworkIndex(entriesIn(origins)),
  };
}

/** Why the entry must not be blocked automatically; undefined if it may be. */
export function exemptionOf({ guards, exempt, allowed, origins }: Exemptions, entry: Entry): Exemption | undefined {
  const network = networkOf(entry);
  const { minPrefixLength, specialPurpose } = guards.declared;
  if (network.prefixLength < minPrefixLength[network.family]) return { kind: "TooWide", by: undefined };
  const overlapping = (kind: ExemptionKind, index: NetworkIndex): Exemption | undefined => {
    const by = index.overlaps(network);
    return by === undefined ? undefined : { kind, by };
  };
  const found =
    overlapping("Exempt", exempt) ??
    overlapping("Allowed", allowed) ??
    overlapping("NeverBlock", guards.neverBlock) ??
    overlapping("Origin", origins);
  if (found !== undefined) return found;
  const isSpecial = specialPurpose === "Reject" && specialPurposeObjection(entry, network) !== undefined;
  return isSpecial ? { kind: "SpecialPurpose", by: undefined } : undefined;
}

function entriesIn(texts: readonly string[]): Entry[] {
  return texts.flatMap((text) => {
    const parsed = parseDeclaredEntry(text);
    return parsed.ok ? [parsed.entry] : [];
  });
}
