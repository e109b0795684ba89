// The options of the commands that reconcile a folder: `plan`, `apply` and `run`.
import type { Command } from "commander";
import type { AddCommand } from "./option-groups.ts";
import { onFolder, tableOrJson, withDirectoryOptions } from "./option-groups.ts";

function planCommand(program: Command) {
  return withDirectoryOptions(program.command("plan"), ["table", "json", "markdown"])
    .description("Show what would be changed, and why. Writes nothing.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync plan -f waf/ && echo 'in sync'\n  $ wafsync plan -f waf/ --state /var/lib/wafsync -o json\n  $ wafsync plan -f waf/ -o markdown > comment.md\n\nExit codes: 0 nothing to do, 1 the WAF differs from the declared state or a feed has a problem, 2 error.\n",
    );
}

function applyCommand(program: Command) {
  return withDirectoryOptions(program.command("apply"), tableOrJson)
    .description("Bring every WAF to its declared state, show the progress, and exit.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync apply -f waf/\n  $ wafsync apply -f waf/ --allow-insecure-http -o json\n\nExit codes: 0 complete, 1 incomplete (rejected, on hold, conflict, suspended, feed with a problem), 2 error, 130 stopped.\n",
    );
}

function runCommand(program: Command) {
  return withDirectoryOptions(program.command("run"), tableOrJson)
    .description("Keep every WAF in its declared state, and apply changes to the files.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync run -f waf/\n  $ wafsync run -f waf/ -o json\n\nExit codes: 0 stopped by a signal, 2 error.\n",
    );
}

export const folderCommands: readonly AddCommand[] = [
  (program, ends) =>
    planCommand(program).action(
      ends(
        async (directory, options) => await (await import("../plan-command.ts")).runPlan(onFolder(directory, options)),
      ),
    ),
  (program, ends) =>
    applyCommand(program).action(
      ends(
        async (directory, options) =>
          await (await import("../apply-command.ts")).runApply(onFolder(directory, options)),
      ),
    ),
  (program, ends) =>
    runCommand(program).action(
      ends(
        async (directory, options) => await (await import("../run-command.ts")).runFollow(onFolder(directory, options)),
      ),
    ),
];
