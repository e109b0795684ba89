// Truncates deeply nested external values: code that walks them later, such as JSON.stringify, uses stack for each level, and a
// body of a few hundred kilobytes can exhaust the stack.
import { isRawNumber } from "./exact-numbers.ts";

/** The placeholder for a truncated value. */
export const cutMark = "[nested too deep]";

/** The value itself if it is not nested deeper than `depthMax`; otherwise a truncated copy. */
export function limitNesting<T>(value: T, depthMax: number): T {
  return isDeeper(value, depthMax) ? (cut(value, depthMax) as T) : value;
}

/** Copies nothing, because there are tens of thousands of rows, and hardly any is nested. */
function isDeeper(value: unknown, depthMax: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depthMax === 0) return !isRawNumber(value);
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) if (isDeeper(fields[name], depthMax - 1)) return true;
  return false;
}

function cut(value: unknown, depthMax: number): unknown {
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (depthMax === 0) return cutMark;
  if (Array.isArray(value)) return value.map((item) => cut(item, depthMax - 1));
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, cut(field, depthMax - 1)]));
}
