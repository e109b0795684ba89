// What the record says of each entry once its outcome is decided. An entry is managed as soon as it is recorded, before the call that
// adds it. One that was on the list before any rule declared it stays unmanaged, unless a rule adopts it.
import type { Manner, OwnedEntry, Refusal } from "../model/inventory.ts";
import { type ResourceMeta, nameKey } from "../model/resource.ts";
import { splitRetainers } from "../model/rule-id.ts";
import { type Context, isReleased, type Line, type Outcome } from "./decisions.ts";
import { type Declarers, isOf, joinRetainers, type WantedBy } from "./book.ts";
import type { DesiredState } from "./desired.ts";
import type { WantedAdd } from "./order.ts";
import { hexDigest } from "../model/hex-digest.ts";
import type { DeclaredOrigin, DeclaredRule } from "../model/declared.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { hourMs } from "../model/texts.ts";

/** The annotation with which a rule or an origin adopts existing entries. */
export const adoptAnnotation = "wafsync.dev/adopt";

/** Whether a rule or an origin adopts existing entries. */
export function asksToAdopt(meta: ResourceMeta): boolean {
  return meta.annotations[adoptAnnotation] === "true";
}

/** One entry of a list, with the rules that declare it. */
export interface EntryLine extends Line, WantedAdd {
  readonly recorded: OwnedEntry | undefined;
  /** Undefined if no rule declares it. */
  readonly declarers: Declarers | undefined;
}

/** Whether one of the rules that retain the entry was deleted. One that can't be read may still exist. */
export function isRetained(
  { retainedBy }: Pick<OwnedEntry, "retainedBy">,
  { existingRules, unknownRules }: Pick<DesiredState, "existingRules" | "unknownRules">,
): boolean {
  return splitRetainers(retainedBy).some((id) => !existingRules.has(id) && !unknownRules.has(id));
}

/** Creates the records of entries: one shared object for all entries with the same record. */
export class Records {
  readonly #context: Context<EntryLine>;
  readonly #existingRules: ReadonlySet<string>;
  readonly #nowMs: number;
  readonly #missedAtMs: number;
  /** By two things that a record follows from: few records are shared by nearly all entries. */
  readonly #made = new Map<WantedBy, Map<unknown, OwnedEntry>>();

  constructor(context: Context<EntryLine>, existingRules: ReadonlySet<string>, nowMs: number) {
    this.#context = context;
    this.#existingRules = existingRules;
    this.#nowMs = nowMs;
    // If the clock was set back since, the very read that missed an entry must not count as a second one.
    this.#missedAtMs = Math.max(nowMs, context.readAtMs);
  }

  /** The record after the outcome: the same object if nothing changes, and undefined if the entry is not managed. */
  after(line: EntryLine, { kind }: Pick<Outcome, "kind">): OwnedEntry | undefined {
    const { entry, declarers, shown, recorded } = line;
    if (this.#context.off !== undefined) return recorded;
    const left = isReleased(line, this.#context) ? undefined : recorded;
    if (kind === "Forget") return undefined;
    const wanted = declarers?.wantedBy(entry);
    if (kind === "Adopt" && wanted !== undefined) return this.#freshFor(wanted, "Adopted");
    if (left === undefined) return kind === "Add" && wanted !== undefined ? this.#freshFor(wanted, "Added") : undefined;
    if (wanted !== undefined) return this.#updated(left, wanted, shown);
    return this.#unwanted(left, kind === "Missing" && this.#context.mayForget);
  }

  /** For an undeclared entry: records when it was first missing. */
  #unwanted(before: OwnedEntry, isMissing: boolean): OwnedEntry {
    const { missingSinceMs } = before;
    // A time in the future means that the clock was set back.
    const missedAtMs = this.#missedAtMs;
    if (isMissing ? missingSinceMs !== undefined && missingSinceMs <= missedAtMs : missingSinceMs === undefined) {
      return before;
    }
    return this.#shared(before, isMissing, () =>
      isMissing ? { ...before, missingSinceMs: missedAtMs } : found(before),
    );
  }

  #updated(before: OwnedEntry, wanted: WantedBy, isShown: boolean): OwnedEntry {
    // Its removal is confirmed: it becomes managed anew, not since it was first added.
    if (before.missingSinceMs !== undefined && !isShown) return this.#freshFor(wanted, "Added");
    if (isOf(before, wanted)) return before;
    return this.#shared(before, wanted, () => {
      // Only a release ends the retention of a deleted rule.
      const gone = splitRetainers(before.retainedBy).filter((id) => !this.#existingRules.has(id));
      const next = { ...wanted, retainedBy: joinRetainers([...splitRetainers(wanted.retainedBy), ...gone]) };
      const { lines: _, ...rest } = found(before);
      return isOf(before, next) ? before : { ...rest, ...next };
    });
  }

  /** The record of an entry that becomes managed now. */
  #freshFor(wanted: WantedBy, manner: Manner): OwnedEntry {
    return this.#shared(wanted, manner, () => ({ ...wanted, sinceMs: this.#nowMs, manner }));
  }

  #shared(from: WantedBy, to: unknown, make: () => OwnedEntry): OwnedEntry {
    const made = this.#made.get(from) ?? new Map<unknown, OwnedEntry>();
    this.#made.set(from, made);
    const record = made.get(to) ?? make();
    made.set(to, record);
    return record;
  }
}

/** The record of an entry that is not missing. */
function found(record: OwnedEntry): OwnedEntry {
  const { missingSinceMs: _, ...rest } = record;
  return rest;
}

// A write that the API refused is not retried until its rules change, or an hour has passed.

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
  if (refusal === undefined || isRefusalOver(refusal, nowMs)) return undefined;
  return refusal.wantedBy === wantedBy() ? refusal : undefined;
}

/** Also true if the clock was set back since: otherwise, the refusal would last longer because of that. */
export function isRefusalOver({ refusedAtMs }: Refusal, nowMs: number): boolean {
  return nowMs < refusedAtMs || nowMs >= refusedAtMs + refusedForMs;
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
  const left = refusals.filter((refusal) => !isRefusalOver(refusal, nowMs));
  return left.length === refusals.length ? refusals : left;
}
