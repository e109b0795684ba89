// Checks whether other entries cover the addresses of an entry, for the oracle of the simulation, without code from src/.

interface Range {
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

/** Whether each address of the entry is in one of the others. A string that is not an address is covered only by itself. */
export function isCoveredBy(entry: string, others: Iterable<string>): boolean {
  const wanted = rangeOf(entry);
  const found: Range[] = [];
  for (const other of others) {
    if (other === entry) return true;
    const range = wanted === undefined ? undefined : rangeOf(other);
    if (range !== undefined && range.family === wanted?.family) found.push(range);
  }
  if (wanted === undefined) return false;
  let next = wanted.first;
  for (const { first, last } of found.toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    if (first > next || next > wanted.last) break;
    if (last >= next) next = last + 1n;
  }
  return next > wanted.last;
}

/** Whether the two share an address. */
export function sharesAddress(a: string, b: string): boolean {
  const [one, two] = [rangeOf(a), rangeOf(b)];
  if (one === undefined || two === undefined) return a === b;
  return one.family === two.family && one.first <= two.last && two.first <= one.last;
}

/** Seeds use different entries, so without a limit the memory of a worker would grow with each seed. */
const knownMax = 2_000;
const known = new Map<string, Range | undefined>();

function rangeOf(entry: string): Range | undefined {
  if (known.has(entry)) return known.get(entry);
  const range = readRange(entry);
  if (known.size >= knownMax) known.clear();
  known.set(entry, range);
  return range;
}

function readRange(entry: string): Range | undefined {
  const [address = "", lengthText] = entry.split("/");
  const family = address.includes(":") ? 6 : 4;
  const bits = family === 6 ? 128 : 32;
  const value = family === 6 ? groupsOf(address) : octetsOf(address);
  if (value === undefined) return undefined;
  const hosts = BigInt(bits - Number(lengthText ?? bits));
  const first = (value >> hosts) << hosts;
  return { family, first, last: first + (1n << hosts) - 1n };
}

function octetsOf(address: string): bigint | undefined {
  if (!/^\d+(?:\.\d+){3}$/.test(address)) return undefined;
  return address.split(".").reduce((value, octet) => value * 256n + BigInt(octet), 0n);
}

function groupsOf(address: string): bigint | undefined {
  if (!/^[0-9a-f:]+$/.test(address)) return undefined;
  const [head = "", tail] = address.split("::");
  const groups = (text: string): string[] => text.split(":").filter((group) => group !== "");
  const [before, after] = [groups(head), groups(tail ?? "")];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}
