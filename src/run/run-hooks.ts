// What else happens in the runs of an instance: work on the same lane that a run knows nothing of, between its writes.
import type { WafInstanceStatus } from "../kinds/waf-instance.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import type { RunFacts } from "./facts.ts";
import type { ReconcilePorts, StatusPort } from "./ports.ts";
import type { RunResult } from "./run-result.ts";
import type { World } from "./world.ts";

/** Remembers the instance from run to run. */
export interface RunHooks {
  /** Called before every write, so it must be cheap while there is nothing to do. A result ends the run. */
  beforeWrite(world: World): Promise<RunResult | undefined>;
  /** Its part of the instance's status. */
  instanceStatus(before: Partial<WafInstanceStatus>, facts: RunFacts): Partial<WafInstanceStatus>;
  /** Writes the statuses of its objects. */
  report(status: StatusPort, facts: RunFacts): Promise<void>;
  /** Called at the end of a run, before its report. */
  atEnd(ports: ReconcilePorts, facts: RunFacts): HooksEnd;
}

export interface HooksEnd {
  /** Cache clears that are neither finished nor suspended. */
  readonly pending: readonly DeclaredCacheClear[];
  /** When to run again without a change; undefined if there is nothing to do then. */
  readonly wakeAtMs: number | undefined;
  readonly afterReport: () => Promise<void>;
}
