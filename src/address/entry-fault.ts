// Explains why a string is not accepted as an entry, and what to write instead. Only called for strings that the strict parser has
// already refused, so it may guess generously what was meant: its suggestions are never applied.
import {
  canonicalText,
  mappedPrefixLength,
  networkAt,
  prefixLengthMax,
  readNetwork,
  unmapped,
  type WrittenNetwork,
} from "./network.ts";

/** The longest entry that needs no abbreviation: eight groups of four digits, seven colons, `/128`. */
export const entryLengthMax = 43;

const quotedLengthMax = 60;
const unquotable = /[^\x20-\x7e]/gu;

/** The string in quotes, truncated to 60 characters, with invisible characters written as codes. */
function quote(text: string): string {
  const shown = text.length > quotedLengthMax ? `${text.slice(0, quotedLengthMax)}…` : text;
  const escape = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  return `"${shown.replaceAll(unquotable, (character) => (character === "…" ? character : escape(character)))}"`;
}

/** The faults are sentences for users: what is wrong with the string, and what to write. */
export function hostBitsFault(text: string, network: WrittenNetwork): string {
  const address = canonicalText(networkAt(network.family, network.address, prefixLengthMax(network.family)));
  const instead = `write ${canonicalText(network)} for the network, or ${address} for the one address`;
  return `${quote(text)} has host bits: ${instead}`;
}

export function mappedFault(text: string, network: WrittenNetwork): string {
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
  { pattern: /\s/gu, fault: "contains whitespace", meant: "", instead: "write one address for each item" },
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
export function unreadableFault(text: string): string {
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
