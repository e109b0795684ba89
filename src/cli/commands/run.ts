// The options of `wafsync run`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { onFolder, withDirectoryOptions } from "./option-groups.ts";

export function addRunCommand(program: Command, setExitCode: SetExitCode): void {
  withDirectoryOptions(program.command("run"))
    .description("Keep every WAF in its declared state, and apply changes to the files.")
    .option("--once", "bring every WAF to its declared state once, and exit", false)
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync run -f waf/\n  $ wafsync run -f waf/ --once -o json\n\nExit codes with --once: see apply.\n",
    )
    .action(async (directory, given) => {
      const options = onFolder(directory, given);
      if (options.once) {
        const { runApply } = await import("../apply-command.ts");
        setExitCode(await runApply({ ...options, showsProgress: false }));
        return;
      }
      const { runFollow } = await import("../run-command.ts");
      setExitCode(await runFollow(options));
    });
}
