// Finds entries that cover one address or network. There are at most 129 such networks, so each string of a long list is looked
// up among them; only possible other spellings are parsed.
import type { Entry } from "./entry.ts";
import { readObservedEntry } from "./entry.ts";
import { canonicalText, readCanonical } from "./network.ts";

const bitsPerGroup = 16;
const ipv6Bits = 128;
const spaceCode = 32;
const zeroCode = 48;
const colonCode = 58;
const slashCode = 47;

export class AddressCover {
  readonly entry: Entry;
  readonly #covering: ReadonlySet<string>;
  readonly #isIpv4: boolean;
  readonly #parts: readonly number[];

  constructor(entry: Entry) {
    this.entry = entry;
    const network = readCanonical(entry);
    this.#isIpv4 = network.family === "ipv4";
    this.#parts = network.parts;
    const lengths = Array.from({ length: network.prefixLength + 1 }, (_, prefixLength) => prefixLength);
    this.#covering = new Set(lengths.map((prefixLength) => canonicalText({ ...network, prefixLength })));
  }

  /** Whether the entry contains the complete address or network. */
  has(entry: Entry): boolean {
    return this.#covering.has(entry);
  }

  /** The entry of a string if it contains the address, in any spelling; host bits are ignored. */
  find(text: string): Entry | undefined {
    if (this.#covering.has(text)) return text as Entry;
    if (!this.#mayBeSpelled(text)) return undefined;
    const entry = readObservedEntry(text);
    return this.#covering.has(entry) ? entry : undefined;
  }

  /** False if the string is definitely not another spelling of a network that contains the address. */
  #mayBeSpelled(text: string): boolean {
    const first = text.charCodeAt(0);
    const isTrimmed = first > spaceCode && text.charCodeAt(text.length - 1) > spaceCode;
    if (!isTrimmed) return true;
    const isIpv6 = text.includes(":");
    // An IPv4 address has one spelling without a prefix, and further spellings as IPv6.
    if (this.#isIpv4) return isIpv6 ? first === colonCode || first === zeroCode : text.includes("/");
    if (!isIpv6) return false;
    return this.#startsLike(text);
  }

  /** Compares group by group, up to `::` or the end of the network. True if there is no difference. */
  #startsLike(text: string): boolean {
    const slash = text.indexOf("/");
    const prefixLength = slash === -1 ? ipv6Bits : Number(text.slice(slash + 1));
    const whole = Math.floor(prefixLength / bitsPerGroup);
    let group = 0;
    let digits = 0;
    let place = 0;
    for (let index = 0; index <= text.length && place < whole; index += 1) {
      const code = index === text.length ? slashCode : text.charCodeAt(index);
      if (code !== colonCode && code !== slashCode) {
        const digit = digitOf(code);
        // Dots or invalid characters need a full check.
        if (digit === undefined) return true;
        group = group * 16 + digit;
        digits += 1;
        continue;
      }
      if (digits === 0) return true;
      if (group !== this.#parts[place]) return false;
      if (code === slashCode) return true;
      place += 1;
      group = 0;
      digits = 0;
    }
    return true;
  }
}

/** The value of a hexadecimal digit. */
function digitOf(code: number): number | undefined {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : undefined;
}
