// Random networks and their spellings, for property tests.
import * as fc from "fast-check";

export interface WrittenNetwork {
  readonly family: "ipv4" | "ipv6";
  /** Octets, or groups of 16 bits, without host bits. */
  readonly parts: readonly number[];
  readonly prefixLength: number;
}

function masked(family: WrittenNetwork["family"], parts: readonly number[], prefixLength: number): WrittenNetwork {
  const bits = family === "ipv4" ? 8 : 16;
  const text = parts.map((part) => part.toString(2).padStart(bits, "0")).join("");
  const kept = text.slice(0, prefixLength).padEnd(text.length, "0");
  const groups = kept.match(new RegExp(`.{${bits}}`, "g")) ?? [];
  return { family, parts: groups.map((group) => Number.parseInt(group, 2)), prefixLength };
}

/** Few different numbers, so that networks overlap, nest and contain runs of zeros. */
const octet = fc.oneof(fc.constantFrom(0, 1, 10, 127, 128, 255), fc.integer({ min: 0, max: 255 }));
const group = fc.oneof(fc.constantFrom(0, 0, 0, 1, 0x8000, 0xffff), fc.integer({ min: 0, max: 0xffff }));

export const ipv4Network: fc.Arbitrary<WrittenNetwork> = fc
  .tuple(fc.array(octet, { minLength: 4, maxLength: 4 }), fc.integer({ min: 0, max: 32 }))
  .map(([parts, prefixLength]) => masked("ipv4", parts, prefixLength));

/** Without networks that represent IPv4. */
export const ipv6Network: fc.Arbitrary<WrittenNetwork> = fc
  .tuple(fc.array(group, { minLength: 8, maxLength: 8 }), fc.integer({ min: 0, max: 128 }))
  .map(([parts, prefixLength]) => masked("ipv6", parts, prefixLength))
  .filter(({ parts }) => parts.slice(0, 5).some((part) => part !== 0) || parts[5] !== 0xffff);

export const anyNetwork: fc.Arbitrary<WrittenNetwork> = fc.oneof(ipv4Network, ipv6Network);

/** Eight groups or four octets in full, with the prefix length: always valid, but never canonical. */
export function written({ family, parts, prefixLength }: WrittenNetwork): string {
  return family === "ipv4"
    ? `${parts.join(".")}/${prefixLength}`
    : `${parts.map((part) => part.toString(16)).join(":")}/${prefixLength}`;
}

/** One of the spellings of this network that a strict parser accepts, with at most 43 characters. */
export function spelling(network: WrittenNetwork): fc.Arbitrary<string> {
  const { family, parts, prefixLength } = network;
  const isAddress = prefixLength === (family === "ipv4" ? 32 : 128);
  const suffix = isAddress ? fc.constantFrom("", `/${prefixLength}`) : fc.constant(`/${prefixLength}`);
  const address = family === "ipv4" ? fc.constant(parts.join(".")) : ipv6Spelling(parts);
  return fc
    .tuple(address, suffix)
    .map(([text, length]) => `${text}${length}`)
    .filter((text) => text.length <= 43);
}

function ipv6Spelling(parts: readonly number[]): fc.Arbitrary<string> {
  const widths = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 8, maxLength: 8 });
  const run = fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 1, max: 8 }));
  return fc.tuple(widths, run, fc.boolean(), fc.boolean()).map(([width, [start, length], upper, dotted]) => {
    const groups = parts.map((part, position) => part.toString(16).padStart(width[position] ?? 1, "0"));
    const [high = 0, low = 0] = parts.slice(6);
    const tail = dotted ? [[high >> 8, high & 255, low >> 8, low & 255].join(".")] : groups.slice(6);
    const all = [...groups.slice(0, 6), ...tail];
    const end = Math.min(start + length, dotted ? 6 : 8);
    const isZero = start < end && parts.slice(start, end).every((part) => part === 0);
    const text = isZero ? `${all.slice(0, start).join(":")}::${all.slice(end).join(":")}` : all.join(":");
    return upper ? text.toUpperCase() : text;
  });
}
