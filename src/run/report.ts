// Writes the facts of a run to the status of the instance and of everything attached to it. The port writes only differences.
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../async/clock.ts";
import { TimeSlices } from "../async/time-slices.ts";
import { mapConcurrently } from "../async/map-concurrently.ts";
import type { Condition } from "../kinds/conditions.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { instanceStatus } from "./status/instance-status.ts";
import { originStatus } from "./status/origin-status.ts";
import type { WafInstanceStatus } from "../kinds/waf-instance.ts";
import { ruleStatus } from "./status/rule-status.ts";
import { withoutUndefined, writeStatus } from "./status/write-status.ts";
import type { RunFacts } from "./facts.ts";
import type { ResourceMeta } from "../model/resource.ts";
import type { ReconcilePorts, StatusPort } from "./ports.ts";

/** Writing many small statuses one after another takes long; writing all of them in parallel delays other requests. */
const statusesAtOnceMax = 3;

interface ReportPorts {
  readonly status: StatusPort;
  readonly statusOf?: ReconcilePorts["statusOf"];
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
}

/** Decides whether a status is written, from the current status and its replacement. */
type IsWorthWriting = (object: ResourceMeta, before: object, after: (before: object) => object) => boolean;

/** Writes every status at the end of a run. With `goesOn`, unwritten statuses are left to the next run. */
export async function reportFacts(
  ports: ReportPorts,
  memory: InstanceMemory,
  facts: RunFacts,
  goesOn: () => boolean = () => true,
): Promise<void> {
  await reportObjects(ports, memory, facts, ({ kind }) => kind === "WafInstance" || goesOn());
  await memory.hooks?.report(ports.status, facts);
}

/**
 * The report at the start of a run, on every object version without a report. Reports of an earlier run stay valid while
 * the WAF is read again. The run does not wait for the statuses of rules and origins, of which there may be thousands.
 */
export class OpeningReport {
  readonly #ports: ReportPorts;
  readonly #memory: InstanceMemory;
  #hasEnded = false;
  #begun: Promise<void> = Promise.resolve();
  #written: Promise<void> = Promise.resolve();

  constructor(ports: ReportPorts, memory: InstanceMemory) {
    this.#ports = ports;
    this.#memory = memory;
  }

  /** Starts the report. `begun` and `end` throw its failures. */
  begin(facts: RunFacts): void {
    this.#begun = this.#report(facts);
    this.#begun.catch(() => undefined);
  }

  /** Resolves when the statuses of the instance and of the hooks are written: before the first write of the run. */
  async begun(): Promise<void> {
    await this.#begun;
  }

  async #report(facts: RunFacts): Promise<void> {
    const isNew: IsWorthWriting = (object, before) => (before as Reported).observedGeneration !== object.generation;
    const ofInstance: IsWorthWriting = (object, ...rest) => object.kind === "WafInstance" && isNew(object, ...rest);
    await reportObjects(this.#ports, this.#memory, facts, ofInstance);
    await this.#memory.hooks?.report(this.#ports.status, facts);
    const ofOthers: IsWorthWriting = (object, ...rest) =>
      !this.#hasEnded && object.kind !== "WafInstance" && isNew(object, ...rest);
    this.#written = reportObjects(this.#ports, this.#memory, facts, ofOthers);
    // `end` throws the failure.
    this.#written.catch(() => undefined);
  }

  /** Ends the report. Afterwards, it writes no further status. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#begun;
    await this.#written;
  }
}

/**
 * Reports while a run applies its plan. Writes the status of the instance, and of those rules and origins for which more than the
 * rate and the remaining time has changed, because thousands may be waiting. With `toAll`, writes all of them. Ends early when
 * `goesOn` returns false.
 */
export async function reportProgress(
  ports: ReportPorts,
  memory: InstanceMemory,
  facts: RunFacts,
  { toAll, goesOn }: { readonly toAll: boolean; readonly goesOn: () => boolean },
): Promise<void> {
  const isWorthWriting: IsWorthWriting = (object, before, after) =>
    object.kind === "WafInstance" || (goesOn() && (toAll || hasMoved(before, after(before))));
  await reportObjects(ports, memory, facts, isWorthWriting);
}

interface Reported {
  readonly observedGeneration?: number;
}

async function reportObjects(
  { status, clock, statusOf }: ReportPorts,
  memory: InstanceMemory,
  facts: RunFacts,
  isWorthWriting: IsWorthWriting,
): Promise<void> {
  // Usually, nothing is written and nothing waits, so yield explicitly: otherwise, the whole report would run in one piece.
  const slices = new TimeSlices(clock);
  const report = async (meta: ResourceMeta, after: (before: object) => object): Promise<void> => {
    if (slices.isOver) await slices.pause();
    if (isWorthWriting(meta, status.read(meta) ?? {}, after)) await writeStatus(status, meta, after);
  };
  await report(facts.gathered.instance.meta, (before: Partial<WafInstanceStatus>) => ({
    ...instanceStatus(before, facts, memory.lastSyncMs),
    ...memory.hooks?.instanceStatus(before, facts),
  }));
  // No run covers objects that are attached to an instance that is being deleted.
  if (facts.gathered.instance.meta.deleting) return;
  const ownersFirst = facts.desired.rules.toSorted((a, b) => Number(b.isOwners) - Number(a.isOwners));
  await mapConcurrently(ownersFirst, statusesAtOnceMax, async (rule) => {
    if (rule.rule.meta.deleting) return;
    const changedMs = memory.ruleChangedMs.get(rule.id);
    await report(
      rule.rule.meta,
      (before) => statusOf?.(before, rule, facts) ?? ruleStatus(before, rule, facts, changedMs),
    );
  });
  for (const origin of facts.desired.compiledOrigins) {
    await report(origin.origin.meta, (before) => originStatus(before, origin, facts));
  }
}

/** Whether more than the rate and the remaining time differs. */
function hasMoved(before: object, after: object): boolean {
  return !isDeepStrictEqual(gistOf(before), gistOf(after));
}

/** Returns a status as it is stored, without the messages of its conditions. */
function gistOf(status: { readonly conditions?: readonly Condition[] }): unknown {
  const conditions = status.conditions?.map(({ type, status, reason, observedGeneration }) => {
    return { type, status, reason, observedGeneration };
  });
  return withoutUndefined({ ...status, conditions });
}
