// The options of `wafsync plan`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { onFolder, withDirectoryOptions } from "./option-groups.ts";

export function addPlanCommand(program: Command, setExitCode: SetExitCode): void {
  withDirectoryOptions(program.command("plan"), ["table", "json", "markdown"])
    .description("Show what would be changed, and why. Writes nothing.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync plan -f waf/ && echo 'in sync'\n  $ wafsync plan -f waf/ --state /var/lib/wafsync -o json\n  $ wafsync plan -f waf/ -o markdown > comment.md\n\nExit codes: 0 nothing to do, 1 the WAF differs from the declared state or a feed has a problem, 2 error.\n",
    )
    .action(async (directory, options) => {
      const { runPlan } = await import("../plan-command.ts");
      setExitCode(await runPlan(onFolder(directory, options)));
    });
}
