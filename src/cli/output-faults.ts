// Handles errors of stdout and stderr. A reader that stops reading (`| head`) is not a failure. Any other error, such as a full
// disk, loses results. The command still completes its work, because a firewall must not depend on a log file, and its exit code
// reports the loss.
import { visibleLines } from "../model/visible-text.ts";

type OutputStream = Pick<NodeJS.WriteStream, "on" | "write">;

export interface OutputFaults {
  /** Whether results were lost. */
  readonly hasLost: boolean;
}

export function outliveReaders({ stdout, stderr }: Record<"stdout" | "stderr", OutputStream>): OutputFaults {
  const faults = { hasLost: false };
  stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "EPIPE" || faults.hasLost) return;
    faults.hasLost = true;
    const problem = `error: cannot write to stdout (${code ?? "unknown error"}): results are lost`;
    stderr.write(visibleLines(`${problem}\n  wafsync continues its work. Free disk space, or redirect stdout.\n`));
  });
  // No stream is left to report this on.
  stderr.on("error", () => undefined);
  return faults;
}
