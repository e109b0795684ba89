// A run that a controller starts, unless another process works on the instance.
import type { WorkResult } from "../async/workers.ts";

export interface StartedRun {
  /** Called last, whatever the outcome. Must not throw. */
  readonly onEnd?: () => void;
}

/** Another process works on the instance: this process does nothing and forgets the instance. */
export interface RunElsewhere {
  /** When to check again if nothing changes (wall time). */
  readonly elsewhereUntilMs: number;
}

/** Carries out the run and ends it, or forgets the instance if another process works on it. */
export async function endingRun<Run extends StartedRun>(
  started: Run | Promise<Run | RunElsewhere>,
  { carryOut, forget }: { readonly carryOut: (run: Run) => Promise<WorkResult>; readonly forget: () => void },
): Promise<WorkResult> {
  const run = await started;
  if ("elsewhereUntilMs" in run) {
    forget();
    return { kind: "Settled", wakeAtMs: run.elsewhereUntilMs };
  }
  try {
    return await carryOut(run);
  } finally {
    run.onEnd?.();
  }
}
