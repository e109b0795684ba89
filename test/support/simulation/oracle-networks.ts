// Networks for the oracle of the simulation, with only the type from src/model.
import type { Entry } from "../../../src/model/entry.ts";

export function isIpv6(entry: string): boolean {
  return entry.includes(":");
}

export function lengthOf(entry: string, whole: number): number {
  return Number(entry.split("/")[1] ?? whole);
}

/** Whether the wider of two IPv4 networks contains the first address of the other. */
export function overlaps(a: string, b: string): boolean {
  const [firstOfA, lastOfA] = boundsOf(a);
  const [firstOfB, lastOfB] = boundsOf(b);
  return firstOfA <= lastOfB && firstOfB <= lastOfA;
}

/** First and last address of an IPv4 network, as numbers. */
function boundsOf(network: string): readonly [number, number] {
  const octets = (network.split("/")[0] ?? "").split(".").map(Number);
  const first = octets.reduce((value, octet) => value * 256 + octet, 0);
  return [first, first + 2 ** (32 - lengthOf(network, 32)) - 1];
}

/** Walks through the addresses of an IPv4 network, and each time takes the widest network that starts at the address and fits. */
export function without(entry: Entry, networks: readonly string[]): readonly Entry[] {
  const [start, end] = boundsOf(entry);
  const holes = networks.map(boundsOf);
  const pieces: Entry[] = [];
  for (let address = start; address <= end;) {
    const hole = holes.find(([first, last]) => first <= address && address <= last);
    if (hole !== undefined) {
      address = hole[1] + 1;
      continue;
    }
    const limit = Math.min(end, ...holes.flatMap(([first]) => (first > address ? first - 1 : [])));
    let size = 1;
    while (address % (size * 2) === 0 && address + size * 2 - 1 <= limit) size *= 2;
    const octets = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
    pieces.push((size === 1 ? octets : `${octets}/${32 - Math.log2(size)}`) as Entry);
    address += size;
  }
  return pieces;
}
