// Computes numbers that look random and are the same for the same input. There is no state, so any row can be generated at any
// time.

/** Looked up once: if the globals are not the engine's own, a lookup for each character costs more than the arithmetic. */
const { imul } = Math;

/** @returns a whole number from 0 to 2^32 - 1 that depends on every one of the numbers and on their order */
export function hashNumbers(...numbers: readonly number[]): number {
  let hash = 0x9e_37_79_b9;
  for (const number of numbers) hash = mix(imul(hash, 31) ^ (number | 0));
  return hash;
}

function mix(value: number): number {
  let mixed = value;
  mixed = imul(mixed ^ (mixed >>> 16), 0x85_eb_ca_6b);
  mixed = imul(mixed ^ (mixed >>> 13), 0xc2_b2_ae_35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
