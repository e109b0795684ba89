// The options of `wafsync approve`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { withTargetOptions } from "./target-options.ts";

export function addApproveCommand(program: Command, setExitCode: SetExitCode): void {
  withTargetOptions(program.command("approve"))
    .option("-y, --yes", "approve without asking", false)
    .option("--list", "print all removals, not only the first of each rule", false)
    .description(
      "Show the removals on hold, grouped by the rule that last declared the entries, and approve exactly these removals.",
    )
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync approve -f waf/
  $ wafsync approve --instance shop/shop --yes

Exit codes: 0 approved, or nothing is on hold; 1 not approved, 2 error, 130 stopped.
`,
    )
    .action(async (options) => {
      const { runApprove } = await import("../approve-command.ts");
      setExitCode(await runApprove(options));
    });
}
