// Compares JSON values as the API server sees them, and computes the merge patch that turns one status into another.
import { isRecord } from "./kube-object.ts";

/** Ignores the order of keys and keys with the value undefined. The order of lists matters. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  }
  if (!isRecord(left) || !isRecord(right)) return false;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  for (const key of keys) if (!sameJson(left[key], right[key])) return false;
  return true;
}

/**
 * The merge patch (RFC 7386) that turns `current` into `desired`: all of `desired`, and null for every field to remove.
 * Values of `desired` are never null, because null cannot be stored by a merge patch.
 */
export function statusPatch(current: unknown, desired: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  const old = isRecord(current) ? current : {};
  for (const key of Object.keys(old)) if (desired[key] === undefined) patch[key] = null;
  for (const [key, value] of Object.entries(desired)) {
    if (value === undefined) continue;
    patch[key] = isRecord(value) ? statusPatch(old[key], value) : value;
  }
  return patch;
}
