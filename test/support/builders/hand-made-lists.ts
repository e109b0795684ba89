// The two lists of a WAF after years of manual changes: 1,413 entries, each network once, in many spellings.
import { addresses } from "./declare.ts";

interface HandMadeLists {
  readonly blocklist: readonly string[];
  readonly allowlist: readonly string[];
}

const blockedSingles = 1_289;
const blockedNetworks = 24;
const allowed = 100;

export function handMadeLists(): HandMadeLists {
  const networks = Array.from({ length: blockedNetworks }, (_, index) =>
    index % 2 === 0 ? `2001:DB8:${index + 16}:0::/48` : `203.0.113.${index * 8 + 3}/29`,
  );
  return {
    blocklist: [...addresses(blockedSingles).map((address, index) => oddly(address, index, "00FF")), ...networks],
    allowlist: addresses(allowed, 70_000).map((address, index) => oddly(address, index, "00FE")),
  };
}

/** @param group the group of the addresses that replace every fourth address */
function oddly(address: string, index: number, group: string): string {
  switch (index % 4) {
    case 0:
      return `${address}/32`;
    case 1:
      return `2001:0DB8:${group}:0000:0000:0000:0000:${index.toString(16).toUpperCase()}`;
    case 2:
      return `::ffff:${address}`;
    default:
      return address;
  }
}
