// The options of `wafsync status`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { withTargetOptions } from "./target-options.ts";

export function addStatusCommand(program: Command, setExitCode: SetExitCode): void {
  withTargetOptions(program.command("status"))
    .option("-w, --watch", "show it again whenever it changes, until you stop it", false)
    .description("Show every instance: what is pending, what is on hold and how to approve it. Calls no WAF.")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync status -f waf/
  $ wafsync status -n shop --watch
  $ wafsync status -f waf/ -o json

Exit codes: 0 everything is Ready, 1 something is not, 2 something is wrong, 130 a watch was stopped.
`,
    )
    .action(async (options) => {
      const { runStatus } = await import("../status-command.ts");
      setExitCode(await runStatus(options));
    });
}
