// Writes that the API refused are not tried again until what they were for has changed, or an hour has passed.
import { hexDigest } from "../../model/hex-digest.ts";
import type { DeclaredOrigin, DeclaredRule } from "../../model/declared.ts";
import type { Refusal } from "../../model/inventory.ts";
import { nameKey } from "../../model/resource.ts";
import type { CompiledRule } from "./compiled-rule.ts";

const refusedForMs = 3_600_000;
/** How many refusals the inventory keeps, the latest. Older ones are remembered by the process alone. */
const refusalsMax = 2_000;

/** Names the versions of the rules that want an entry: another version means another attempt. */
export function versionOfRules(rules: readonly CompiledRule[]): string {
  return rules.map(({ rule }) => versionOf(rule)).join(" ");
}

// Each refused entry asks for the version of its rule, and a rule can have thousands of both.
const contentHashes = new WeakMap<DeclaredRule | DeclaredOrigin, string>();

/** Names the version of one object: its UID and generation, and its content where there is no UID (a directory). */
export function versionOf(declared: DeclaredRule | DeclaredOrigin): string {
  const { meta, ...content } = declared;
  if (meta.uid !== "") return `${nameKey(meta)}@${meta.uid}.${meta.generation}`;
  const known = contentHashes.get(declared);
  const hash = known ?? hexDigest(JSON.stringify(content), 12);
  if (known === undefined) contentHashes.set(declared, hash);
  return `${nameKey(meta)}@${hash}`;
}

/** The refusal that still stands in the way of an operation, or undefined if it may be tried. */
export function standingRefusal(
  refusals: ReadonlyMap<string, Refusal>,
  operation: string,
  wantedBy: () => string,
  nowMs: number,
): Refusal | undefined {
  const refusal = refusals.get(operation);
  if (refusal === undefined || hasEnded(refusal, nowMs)) return undefined;
  return refusal.wantedBy === wantedBy() ? refusal : undefined;
}

/** When the refusal ends by itself. */
export function refusalEndsAtMs(refusal: Refusal): number {
  return refusal.refusedAtMs + refusedForMs;
}

/** Also if the clock was set back since: otherwise the refusal would last that much longer. */
function hasEnded(refusal: Refusal, nowMs: number): boolean {
  return nowMs < refusal.refusedAtMs || nowMs >= refusalEndsAtMs(refusal);
}

/** @param older refusals that the inventory has no room for; those of the inventory count first */
export function refusalsByOperation(
  refusals: readonly Refusal[],
  older: ReadonlyMap<string, Refusal> = new Map(),
): ReadonlyMap<string, Refusal> {
  const byOperation = new Map(older);
  for (const refusal of refusals) byOperation.set(refusal.operation, refusal);
  return byOperation;
}

/** The refusal that has to make room when another one is added; undefined if there is room. */
export function displacedBy(refusals: readonly Refusal[], refusal: Refusal): Refusal | undefined {
  const isKnown = refusals.some(({ operation }) => operation === refusal.operation);
  return isKnown || refusals.length < refusalsMax ? undefined : refusals[0];
}

/** Adds a refusal, in place of an earlier one of the same operation. */
export function withRefusal(refusals: readonly Refusal[], refusal: Refusal): readonly Refusal[] {
  return [...refusals.filter(({ operation }) => operation !== refusal.operation), refusal].slice(-refusalsMax);
}

/** Drops the refusals that no longer stand in the way of anything. */
export function withoutEnded(refusals: readonly Refusal[], nowMs: number): readonly Refusal[] {
  const left = refusals.filter((refusal) => !hasEnded(refusal, nowMs));
  return left.length === refusals.length ? refusals : left;
}
