// Cuts what lies too deep in a value that came from outside: code that walks it later, such as JSON.stringify, takes a part of
// the stack for each level, and a body of a few hundred kilobytes can have more levels than there is stack.

/** What stands where something was cut. */
export const cutMark = "[nested too deep]";

/** The value itself if nothing in it lies deeper than `depthMax`; otherwise a copy of what lies above. */
export function limitNesting(value: unknown, depthMax: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depthMax === 0) return cutMark;
  if (Array.isArray(value)) {
    const items = value.map((item) => limitNesting(item, depthMax - 1));
    return items.every((item, position) => item === value[position]) ? value : items;
  }
  const fields = Object.entries(value);
  const limited = fields.map(([name, field]) => [name, limitNesting(field, depthMax - 1)] as const);
  return limited.every(([, field], position) => field === fields[position]?.[1]) ? value : Object.fromEntries(limited);
}
