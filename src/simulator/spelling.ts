// How the simulated WAF spells the entries of its lists. Every mode spells the same network with different characters.
import { addressBits, formatAddress, networkIdentity } from "./network.ts";
import type { Network } from "./network.ts";
import { hashText } from "./seeded-hash.ts";

const plainModes = ["AsGiven", "AddPrefix", "DropPrefix", "Expanded", "UpperCase", "Masked"] as const;
type PlainMode = (typeof plainModes)[number];

/**
 * - `AsGiven`: as it was sent. `AddPrefix`: single addresses get `/32` or `/128`. `DropPrefix`: single addresses have none.
 * - `Expanded`: IPv6 with all digits. `UpperCase`: IPv6 in capitals. `Masked`: all host bits are zero, and IPv6 is written in its short form.
 * - `Mixed`: each entry in one of these modes, always the same mode for the same network.
 */
export const spellingModes = [...plainModes, "Mixed"] as const;
export type SpellingMode = (typeof spellingModes)[number];

/** The entry as the list shows it in this mode. */
export function spellEntry(given: string, network: Network, mode: SpellingMode): string {
  if (mode !== "Mixed") return spellPlainly(given, network, mode);
  const chosen = plainModes[hashText(networkIdentity(network)) % plainModes.length] ?? "AsGiven";
  return spellPlainly(given, network, chosen);
}

function spellPlainly(given: string, network: Network, mode: PlainMode): string {
  return spellers[mode](given, network);
}

const spellers: Readonly<Record<PlainMode, (given: string, network: Network) => string>> = {
  AsGiven: (given) => given,
  AddPrefix: (given, { hasPrefix, prefixLength }) => (hasPrefix ? given : `${given}/${prefixLength}`),
  DropPrefix: (given, { hasPrefix, prefixLength, family }) =>
    hasPrefix && prefixLength === addressBits(family) ? given.slice(0, given.indexOf("/")) : given,
  Expanded: (_given, network) => formatAddress(network.family, network.hostValue, "Expanded") + suffixOf(network),
  UpperCase: (given) => given.toUpperCase(),
  Masked: (_given, network) => formatAddress(network.family, network.maskedValue, "Short") + suffixOf(network),
};

function suffixOf({ hasPrefix, prefixLength }: Network): string {
  return hasPrefix ? `/${prefixLength}` : "";
}
