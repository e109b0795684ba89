// The options of `wafsync status`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { withTargetOptions } from "./target-options.ts";

export function addStatusCommand(program: Command, setExitCode: SetExitCode): void {
  withTargetOptions(program.command("status"), undefined, false)
    .option("-w, --watch", "keep showing the status whenever it changes, until interrupted", false)
    .description("Show what is pending, on hold or not Ready, and how to approve it. Does not call the WAF.")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync status -f waf/
  $ wafsync status -n shop --watch
  $ wafsync status -f waf/ -o json

Exit codes: 0 all objects are Ready, 1 some objects are not or a file has an error, 2 error, 130 --watch was stopped.
`,
    )
    .action(async (options) => {
      const { runStatus } = await import("../status-command.ts");
      setExitCode(await runStatus(options));
    });
}
