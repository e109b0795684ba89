// Fields without a value, as in `addresses:` with nothing behind it, count as absent: the API server prunes them too.

/** The same document without empty fields of mappings. Items of lists stay, so positions do. */
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}
