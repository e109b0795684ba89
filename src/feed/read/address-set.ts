// A set of IPv4 addresses as numbers: a table with open addressing, several times faster than a Set of strings.

const sizeMin = 4096;
/** Distributes adjacent addresses over the table: 2^32 divided by the golden ratio. */
const spread = 0x9e37_79b1;
const { imul } = Math;

export class AddressSet {
  #table = new Uint32Array(sizeMin);
  #count = 0;
  /** Zero marks an empty slot, so the address 0.0.0.0 is stored separately. */
  #hasZero = false;

  /** Whether the address is new. */
  add(address: number): boolean {
    if (address === 0) {
      const isNew = !this.#hasZero;
      this.#hasZero = true;
      return isNew;
    }
    const slot = slotOf(this.#table, address);
    if (this.#table[slot] === address) return false;
    this.#table[slot] = address;
    this.#count += 1;
    if (this.#count * 2 > this.#table.length) this.#grow();
    return true;
  }

  #grow(): void {
    const larger = new Uint32Array(this.#table.length * 4);
    for (const address of this.#table) if (address !== 0) larger[slotOf(larger, address)] = address;
    this.#table = larger;
  }
}

/** The slot of the address, or the empty slot for it. At least half of the slots are empty, so the loop terminates. */
function slotOf(table: Uint32Array, address: number): number {
  const mask = table.length - 1;
  let slot = (imul(address, spread) >>> 7) & mask;
  while (table[slot] !== 0 && table[slot] !== address) slot = (slot + 1) & mask;
  return slot;
}
