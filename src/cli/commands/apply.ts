// The options of `wafsync apply`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { onFolder, withDirectoryOptions } from "./option-groups.ts";

export function addApplyCommand(program: Command, setExitCode: SetExitCode): void {
  withDirectoryOptions(program.command("apply"))
    .description("Bring every WAF to its declared state, show the progress, and exit.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync apply -f waf/\n  $ wafsync apply -f waf/ --allow-insecure-http -o json\n\nExit codes: 0 complete, 1 incomplete (rejected, on hold, conflict, suspended, feed with a problem), 2 error, 130 stopped.\n",
    )
    .action(async (directory, options) => {
      const { runApply } = await import("../apply-command.ts");
      setExitCode(await runApply({ ...onFolder(directory, options), showsProgress: true }));
    });
}
