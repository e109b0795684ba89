// Errors of stdout and stderr. The reader may stop reading (`| head`), which is no failure. Anything else, such as a full disk, loses
// results: the work is completed nevertheless, because a firewall must not depend on a log file, and the command reports it at its end.
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
    const problem = `error: stdout cannot be written (${code ?? "unknown error"}), so results are missing there`;
    stderr.write(visibleLines(`${problem}\n  wafsync continues its work. Free the disk, or redirect stdout.\n`));
  });
  // Nobody can be told.
  stderr.on("error", () => undefined);
  return faults;
}
