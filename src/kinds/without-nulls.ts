// Fields without a value, such as `addresses:` with nothing after it, are treated as absent: the API server prunes them too.

/** The same document without empty fields of objects. List items are kept, so that positions do not change. */
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}
