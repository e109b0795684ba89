// Cuts what lies too deep in a value that came from outside: code that walks it later, such as JSON.stringify, takes a part of
// the stack for each level, and a body of a few hundred kilobytes can have more levels than there is stack.

/** What stands where something was cut. */
export const cutMark = "[nested too deep]";

/** The value itself if nothing in it lies deeper than `depthMax`; otherwise a copy of what lies above. */
export function limitNesting<T>(value: T, depthMax: number): T {
  return isDeeper(value, depthMax) ? (cut(value, depthMax) as T) : value;
}

/** Copies nothing: there are tens of thousands of rows, and hardly any has a level at all. */
function isDeeper(value: unknown, depthMax: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depthMax === 0) return true;
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) if (isDeeper(fields[name], depthMax - 1)) return true;
  return false;
}

function cut(value: unknown, depthMax: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depthMax === 0) return cutMark;
  if (Array.isArray(value)) return value.map((item) => cut(item, depthMax - 1));
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, cut(field, depthMax - 1)]));
}
