// A write that the API refused is not retried until its rules change, or an hour has passed.
import { hexDigest } from "../model/hex-digest.ts";
import type { DeclaredOrigin, DeclaredRule } from "../model/declared.ts";
import type { Refusal } from "../model/inventory.ts";
import { nameKey } from "../model/resource.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { hourMs } from "../model/texts.ts";

const refusedForMs = hourMs;
/** The number of refusals in the inventory, the latest ones. The process keeps older ones only in memory. */
const refusalsMax = 2_000;

/**
 * The versions of the rules that declare an entry: another version causes another attempt. Many refused entries have the same rules, and a
 * rule can have thousands of entries. Create a new one for each plan.
 */
export class RuleVersions {
  readonly #known = new Map<readonly CompiledRule[], string>();

  of(rules: readonly CompiledRule[]): string {
    const version = this.#known.get(rules) ?? rules.map(({ rule }) => versionOf(rule)).join(" ");
    this.#known.set(rules, version);
    return version;
  }
}

/** Identifies the version of one object by its UID and generation, or by its content if it has no UID (in a directory). */
export function versionOf(declared: DeclaredRule | DeclaredOrigin): string {
  const { meta, ...content } = declared;
  if (meta.uid !== "") return `${nameKey(meta)}@${meta.uid}.${meta.generation}`;
  return `${nameKey(meta)}@${hexDigest(JSON.stringify(content), 12)}`;
}

/** The refusal that still prevents an operation; undefined if it may be tried. */
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

/** When the refusal expires. */
export function refusalEndsAtMs(refusal: Refusal): number {
  return refusal.refusedAtMs + refusedForMs;
}

/** Also true if the clock was set back since: otherwise, the refusal would last longer because of that. */
function hasEnded(refusal: Refusal, nowMs: number): boolean {
  return nowMs < refusal.refusedAtMs || nowMs >= refusalEndsAtMs(refusal);
}

/** The refusal that must be dropped when another one is added; undefined if there is room. */
export function displacedBy(refusals: readonly Refusal[], refusal: Refusal): Refusal | undefined {
  const isKnown = refusals.some(({ operation }) => operation === refusal.operation);
  return isKnown || refusals.length < refusalsMax ? undefined : refusals[0];
}

/** Adds a refusal and replaces an earlier one of the same operation. */
export function withRefusal(refusals: readonly Refusal[], refusal: Refusal): readonly Refusal[] {
  return [...refusals.filter(({ operation }) => operation !== refusal.operation), refusal].slice(-refusalsMax);
}

/** Drops refusals that no longer prevent anything. */
export function withoutEnded(refusals: readonly Refusal[], nowMs: number): readonly Refusal[] {
  const left = refusals.filter((refusal) => !hasEnded(refusal, nowMs));
  return left.length === refusals.length ? refusals : left;
}
