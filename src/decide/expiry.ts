// When the entries of a rule expire.
import type { DeclaredRule } from "../model/declared.ts";

/** The expiry of a rule: the earlier of `expiresAt` and creation plus `ttl`; undefined if it never expires. */
export function expiryOf(rule: DeclaredRule): number | undefined {
  const byTtl =
    rule.ttlMs === undefined || rule.meta.createdAtMs === undefined ? undefined : rule.meta.createdAtMs + rule.ttlMs;
  if (rule.expiresAtMs === undefined) return byTtl;
  return byTtl === undefined ? rule.expiresAtMs : Math.min(rule.expiresAtMs, byTtl);
}
