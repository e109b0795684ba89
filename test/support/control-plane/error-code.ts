// Reads the code of a Node.js error, even across the realms that jest creates.

/** The `code` of a thrown value, or undefined. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
