// Reads the code of an error of Node, also across the realms that jest makes.

/** The `code` of what was thrown, or undefined. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
