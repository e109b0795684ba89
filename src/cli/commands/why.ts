// The options of `wafsync why`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { withTargetOptions } from "./target-options.ts";

export function addWhyCommand(program: Command, setExitCode: SetExitCode): void {
  withTargetOptions(program.command("why"), ["table", "json", "markdown"])
    .argument("<address>", "an address, or a network that an entry must cover completely")
    .description("Show what blocks or allows an address, for which rule and since when. Writes nothing.")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync why 192.0.2.1 -f waf/
  $ wafsync why 2001:db8::1 --instance shop/shop
  $ wafsync why 192.0.2.1 -f waf/ -o markdown > ticket.md

Exit codes: 0 blocked, 1 not blocked, 2 error, 3 allowed. With several WAFs: the first of 0, 3 and 1 that applies to any of them.
`,
    )
    .action(async (address, options) => {
      const { runWhy } = await import("../why-command.ts");
      setExitCode(await runWhy(address, options));
    });
}
