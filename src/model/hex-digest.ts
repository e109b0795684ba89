// SHA-256 of a string, for names and comparisons.
import { createHash } from "node:crypto";

/** @param length How many of the 64 hexadecimal digits are returned. */
export function hexDigest(text: string, length = 64): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}
