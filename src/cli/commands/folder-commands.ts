// The options of the commands that reconcile a folder: `plan`, `apply` and `run`.
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

export function addApplyCommand(program: Command, setExitCode: SetExitCode): void {
  withDirectoryOptions(program.command("apply"))
    .description("Bring every WAF to its declared state, show the progress, and exit.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync apply -f waf/\n  $ wafsync apply -f waf/ --allow-insecure-http -o json\n\nExit codes: 0 complete, 1 incomplete (rejected, on hold, conflict, suspended, feed with a problem), 2 error, 130 stopped.\n",
    )
    .action(async (directory, options) => {
      const { runApply } = await import("../apply-command.ts");
      setExitCode(await runApply(onFolder(directory, options)));
    });
}

export function addRunCommand(program: Command, setExitCode: SetExitCode): void {
  withDirectoryOptions(program.command("run"))
    .description("Keep every WAF in its declared state, and apply changes to the files.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync run -f waf/\n  $ wafsync run -f waf/ -o json\n\nExit codes: 0 stopped by a signal, 2 error.\n",
    )
    .action(async (directory, options) => {
      const { runFollow } = await import("../run-command.ts");
      setExitCode(await runFollow(onFolder(directory, options)));
    });
}
