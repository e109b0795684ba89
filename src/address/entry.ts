// Addresses and networks in their canonical form, so equal entries are equal strings.
// Declared entries are read strictly: a string that two programs could read differently is refused, never guessed.
// The WAF's entries are read leniently: in any spelling, an address is still the same address.
import {
  canonicalText,
  isDottedQuad,
  isMapped,
  type Network,
  readCanonical,
  readNetwork,
  unmapped,
  type WrittenNetwork,
  mappedPrefixLength,
  networkAt,
  prefixLengthMax,
} from "./network.ts";

declare const brand: unique symbol;
/** A canonical address or network. */
export type Entry = string & { readonly [brand]: "Entry" };

/** `message` is a sentence for users: what is wrong, and what to write. */
export type ParsedEntry =
  | { readonly ok: true; readonly entry: Entry }
  | { readonly ok: false; readonly message: string };

/** No address starts with this character. */
const opaqueMark = "?";

/**
 * Reads an entry as a user declared it: strings that Kubernetes accepts by `isIP(self) || isCIDR(self)`, except networks with host
 * bits. Networks of any width are accepted: the guards check the width.
 */
export function parseDeclaredEntry(text: string): ParsedEntry {
  if (isDottedQuad(text)) return { ok: true, entry: text as Entry };
  const network = text.length > entryLengthMax ? undefined : readNetwork(text, "strict");
  if (network === undefined) return { ok: false, message: unreadableFault(text) };
  if (isMapped(network)) return { ok: false, message: mappedFault(text, network) };
  if (network.address !== network.first) return { ok: false, message: hostBitsFault(text, network) };
  return { ok: true, entry: toEntry(network) };
}

/**
 * Reads an entry as the WAF shows it. Never fails: a string that is not an address becomes an opaque entry. It never equals a
 * declared entry, so it counts as foreign.
 */
export function readObservedEntry(text: string): Entry {
  if (isDottedQuad(text)) return text as Entry;
  const network = readSpelling(text);
  return network === undefined ? (`${opaqueMark}${text.trim()}` as Entry) : toEntry(network);
}

/** The network of a string in any spelling. */
export function readSpelling(text: string): WrittenNetwork | undefined {
  const network = readNetwork(text.trim(), "lenient");
  return network !== undefined && isMapped(network) ? (unmapped(network) ?? network) : network;
}

/** True if the WAF shows a string that is not an address. */
export function isOpaque(entry: Entry): boolean {
  return entry.startsWith(opaqueMark);
}

/** Throws for opaque entries, which have no addresses. */
export function networkOf(entry: Entry): Network {
  if (isOpaque(entry)) throw new TypeError(`${entry} has no addresses: ask isOpaque first`);
  return readCanonical(entry);
}

export function toEntry(network: Network): Entry {
  return canonicalText(network) as Entry;
}

// Explains why a string is not accepted as an entry, and what to write instead. Only called for strings that the strict parser has
// already refused, so it may guess generously what was meant: its suggestions are never applied.

/** The longest entry that needs no abbreviation: eight groups of four digits, seven colons, `/128`. */
const entryLengthMax = 43;

const quotedLengthMax = 60;
const unquotable = /[^\x20-\x7e]/gu;

/** The string in quotes, truncated to 60 characters, with invisible characters written as codes. */
function quote(text: string): string {
  const shown = text.length > quotedLengthMax ? `${text.slice(0, quotedLengthMax)}…` : text;
  const escape = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  return `"${shown.replaceAll(unquotable, (character) => (character === "…" ? character : escape(character)))}"`;
}

/** The faults are sentences for users: what is wrong with the string, and what to write. */
function hostBitsFault(text: string, network: WrittenNetwork): string {
  const address = canonicalText(networkAt(network.family, network.address, prefixLengthMax(network.family)));
  const instead = `write ${canonicalText(network)} for the network, or ${address} for the one address`;
  return `${quote(text)} has host bits: ${instead}`;
}

function mappedFault(text: string, network: WrittenNetwork): string {
  const ipv4 = unmapped(network);
  const instead =
    ipv4 === undefined
      ? ` and wider than all of IPv4 (its length is below ${mappedPrefixLength}): write an IPv4 network, such as 192.0.2.0/24`
      : `: write ${canonicalText(ipv4)}`;
  return `${quote(text)} is an IPv4 address in IPv6 form${instead}`;
}

/** Something that people write instead of an address. */
interface Mistake {
  readonly pattern: RegExp;
  readonly fault: string;
  /** Replaces each match, which gives what was probably meant. */
  readonly meant?: string;
  /** For a string that `meant` does not make an address or a network. */
  readonly instead: string;
}

/** The first one that fits is explained. All but the first two patterns see only short strings. */
const mistakes: readonly Mistake[] = [
  {
    // YAML joins an item with the one before it if it is indented further.
    pattern: / - /g,
    fault: "contains several items",
    instead: "write one address for each item, and indent all items of the list alike",
  },
  {
    pattern: new RegExp(`^.{${entryLengthMax + 1},}$`, "gs"),
    fault: `has more than ${entryLengthMax} characters`,
    meant: "$&",
    instead: "write one address or one network",
  },
  {
    pattern: /^\s+|\s+$|\s+(?=\/)|(?<=\/)\s+/gu,
    fault: "contains whitespace",
    meant: "",
    instead: "write one address for each item",
  },
  { pattern: /\s/u, fault: "contains whitespace", instead: "write one address for each item" },
  {
    pattern: /^[\da-f:.]+%/gi,
    fault: "has a zone ID, which is only valid on one machine",
    instead: "write a routable address",
  },
  {
    pattern: /^[a-z][a-z\d+.-]*:\/\/\[?([^/\]]+?)\]?(?::\d+)?(?:\/.*)?$/gi,
    fault: "is a URL",
    meant: "$1",
    instead: "write the addresses themselves",
  },
  {
    pattern: /^(?:\d+(?:\.\d+){3}|[\da-f]*:[\da-f:.]*)-/gi,
    fault: "is a range",
    instead: "write the networks that cover it, such as 192.0.2.0/24, one for each item",
  },
  {
    pattern: /^[\d.]*\*[\d.*]*$/g,
    fault: "has a wildcard",
    instead: "write a network, such as 192.0.2.0/24 for 192.0.2.*",
  },
  {
    pattern: /^\[([^\]]+)\](?::\d*)?$|^([\d.]+):\d*$/g,
    fault: "has a port or brackets",
    meant: "$1$2",
    instead: "write only the address",
  },
  {
    pattern: /(?<=^(?:[\d./]*[./])?)0+(?=\d[\d./]*$)/g,
    fault: "has leading zeros, which some programs read as octal and others as decimal",
    meant: "",
    instead: "write decimal numbers without them",
  },
  {
    pattern: /^(?:0x[\da-f]+|\d+)(?:\.(?:0x[\da-f]+|\d+)){0,2}(?:\/.*)?$|^0x|\.0x/gi,
    fault: "is short for different addresses in different programs",
    instead: "write four decimal numbers, such as 192.0.2.1",
  },
  {
    pattern: /^(?:\d+\.){0,3}(?:25[6-9]|2[6-9]\d|[3-9]\d\d|\d{4,})(?:[./]|$)/g,
    fault: "is not an IP address",
    instead: "write four numbers of at most 255 each, such as 192.0.2.1",
  },
  {
    pattern: /^(?:\d+(?:\.\d+){3}|[\da-f]*:[\da-f:.]*)\//gi,
    fault: "has no valid prefix length",
    instead: "write a number from 0 to 32, or to 128 for IPv6, after the slash",
  },
  {
    pattern: /^(?=.*(?:[g-z_-]|[a-f].*\.))[a-z\d_-]+(?:\.[a-z\d_-]+)*\.?(?:\/.*)?$/gi,
    fault: "is a host name",
    instead: "write the addresses that it stands for",
  },
];

/** The fault of a string that the strict parser accepts neither as an address nor as a network. */
function unreadableFault(text: string): string {
  if (text.trim() === "") return "the entry is empty: write an address such as 192.0.2.1, or remove the item";
  const mistake = mistakes.find(({ pattern }) => text.search(pattern) >= 0);
  if (mistake === undefined) {
    const instead = "write an address such as 192.0.2.1 or 2001:db8::1, or a network such as 192.0.2.0/24";
    return `${quote(text)} is not an IP address: ${instead}`;
  }
  const { pattern, fault, meant, instead } = mistake;
  const network = meant === undefined ? undefined : readNetwork(text.replaceAll(pattern, meant), "strict");
  return `${quote(text)} ${fault}: ${network === undefined ? instead : `write ${canonicalText(network)}`}`;
}
