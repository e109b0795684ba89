// Explains why a string is not accepted as an entry, and what to write instead. Only called for strings that the strict parser has
// already refused, so it may guess generously what was meant: its suggestions are never applied.
import {
  canonicalText,
  mappedPrefixLength,
  networkAt,
  prefixLengthMax,
  readAddress,
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

/** The fault of a string that the strict parser accepts neither as an address nor as a network. */
export function unreadableFault(text: string): string {
  if (text.trim() === "") return "the entry is empty: write an address such as 192.0.2.1, or remove the item";
  for (const explain of explanations) {
    const fault = explain(text);
    if (fault !== undefined) return `${quote(text)} ${fault}`;
  }
  const instead = "write an address such as 192.0.2.1 or 2001:db8::1, or a network such as 192.0.2.0/24";
  return `${quote(text)} is not an IP address: ${instead}`;
}

/** The fault as the rest of a sentence that begins with the string. */
type Explanation = (text: string) => string | undefined;

/** The first explanation that applies is used. */
const explanations: readonly Explanation[] = [
  tooLong,
  whiteSpace,
  zoneId,
  url,
  range,
  wildcard,
  port,
  prefixLength,
  leadingZeros,
  shortIpv4,
  octetTooLarge,
  hostName,
];

/** YAML joins an item with the one before it if it is indented further. */
const misindented = "write one address for each item, and indent all items of the list alike";

function tooLong(text: string): string | undefined {
  if (text.length <= entryLengthMax) return undefined;
  const network = readNetwork(text, "strict");
  const one = text.includes(" - ") ? misindented : "write one address or one network";
  const instead = network === undefined ? one : `write ${canonicalText(network)}`;
  return `has ${text.length} characters, but only ${entryLengthMax} are allowed: ${instead}`;
}

function whiteSpace(text: string): string | undefined {
  if (!/\s/u.test(text)) return undefined;
  const bare = readNetwork(text.replaceAll(/\s/gu, ""), "strict");
  const trimmed = readNetwork(text.trim(), "strict");
  const one = text.includes(" - ") ? misindented : "write one address for each item";
  const instead = (trimmed ?? bare) === undefined ? one : "write it without";
  return `contains whitespace: ${instead}`;
}

function zoneId(text: string): string | undefined {
  const percent = text.indexOf("%");
  if (percent < 0 || readAddress(text.slice(0, percent)) === undefined) return undefined;
  return "has a zone ID, which is only valid on one machine: write a routable address";
}

function url(text: string): string | undefined {
  const address = /^(?:[a-z][a-z0-9+.-]*:\/\/)\[?([^/\]]+)/iu.exec(text)?.[1];
  const isPath = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*\/.*$/iu.test(text);
  if (address === undefined && !isPath) return undefined;
  const network = readAddress(address ?? "") ?? readAddress((address ?? "").replace(/:\d+$/u, ""));
  const instead = network === undefined ? "write the addresses themselves" : `write ${canonicalText(network)}`;
  return `is a URL: ${instead}`;
}

function range(text: string): string | undefined {
  const first = readAddress(text.slice(0, Math.max(text.indexOf("-"), 0)));
  if (first === undefined) return undefined;
  return "is a range: write the networks that cover it, such as 192.0.2.0/24, one for each item";
}

function wildcard(text: string): string | undefined {
  if (!/^[\d.]*\*[\d.*]*$/u.test(text)) return undefined;
  const numbers = /^((?:\d+\.){1,3})\*/u.exec(text)?.[1]?.split(".").slice(0, -1) ?? [];
  const padded = [...numbers, "0", "0", "0", "0"].slice(0, 4).join(".");
  const instead =
    readAddress(padded) === undefined || numbers.length === 0 ? "192.0.2.0/24" : `${padded}/${numbers.length * 8}`;
  return `has a wildcard: write a network, such as ${instead}`;
}

function port(text: string): string | undefined {
  const address = /^\[([^\]]+)\](?::\d*)?$/u.exec(text)?.[1] ?? /^([\d.]+):\d*$/u.exec(text)?.[1];
  const network = readAddress(address ?? "");
  if (network === undefined) return undefined;
  const what = text.endsWith("]") ? "brackets" : "a port";
  return `has ${what}: write ${canonicalText(network)}`;
}

function prefixLength(text: string): string | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = readAddress(text.slice(0, slash));
  if (address === undefined) return undefined;
  const lengthText = text.slice(slash + 1);
  const masked = readNetwork(text, "lenient");
  if (masked !== undefined) {
    return `has leading zeros in its prefix length: write ${canonicalText(masked)}`;
  }
  const mask = address.family === "ipv4" ? lengthOfNetmask(lengthText) : undefined;
  if (mask !== undefined) {
    const instead = canonicalText(networkAt(address.family, address.address, mask));
    return `has a netmask: write ${instead}`;
  }
  const instead = `write a number from 0 to ${prefixLengthMax(address.family)} after the slash`;
  return `has no valid prefix length: ${instead}`;
}

/** `255.255.0.0` → 16; undefined unless it consists of ones followed by zeros. */
function lengthOfNetmask(text: string): number | undefined {
  const address = readAddress(text)?.address;
  if (typeof address !== "number") return undefined;
  const hosts = Math.log2(2 ** 32 - address);
  return Number.isInteger(hosts) ? 32 - hosts : undefined;
}

function leadingZeros(text: string): string | undefined {
  const [address = "", ...rest] = text.split("/");
  if (!/^\d+(?:\.\d+){3}$/u.test(address) || !/(?:^|\.)0\d/u.test(address)) return undefined;
  const decimal = address
    .split(".")
    .map((part) => Number(part))
    .join(".");
  const network = readNetwork([decimal, ...rest].join("/"), "lenient");
  const instead = network === undefined ? "write decimal numbers without them" : `write ${canonicalText(network)}`;
  const reason = "leading zeros, which some programs read as octal";
  return `has ${reason}: ${instead} if it is decimal`;
}

function shortIpv4(text: string): string | undefined {
  const numbers = (text.split("/")[0] ?? "").split(".");
  const isHex = numbers.some((part) => /^0x/iu.test(part));
  if (numbers.length > 4 || (numbers.length === 4 && !isHex)) return undefined;
  if (!numbers.every((part) => /^(?:0x[0-9a-f]+|\d+)$/iu.test(part))) return undefined;
  return "is short for different addresses in different programs: write four decimal numbers, such as 192.0.2.1";
}

function octetTooLarge(text: string): string | undefined {
  if (!/^\d+(?:\.\d+){3}(?:\/\d+)?$/u.test(text)) return undefined;
  return "is not an IP address: write four numbers of at most 255 each, such as 192.0.2.1";
}

function hostName(text: string): string | undefined {
  const isName = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?$/iu.test(text) && /[g-z_-]|[a-f].*\./iu.test(text);
  if (!isName) return undefined;
  return "is a host name: write the addresses that it stands for";
}
