// The options of `wafsync block` and `wafsync unblock`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { wholeNumber } from "./option-groups.ts";
import { withTargetOptions } from "./target-options.ts";

function withWaitOptions(command: Command): Command {
  return withTargetOptions(command)
    .option("--no-wait", "write the rule, and do not wait until the WAF shows it")
    .option("--timeout <seconds>", "give up waiting after this time", wholeNumber(1, 3600), 120);
}

export function addBlockCommand(program: Command, setExitCode: SetExitCode): void {
  withWaitOptions(program.command("block"))
    .argument("<address...>", "addresses and networks")
    .option("--for <duration>", "end the block after this time, for example 2h or 7d (default: it stays)")
    .option("--reason <text>", "why, for the description of the rule")
    .description("Block addresses now: writes a rule that goes before all others, and waits until the WAF shows them.")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync block 192.0.2.1 -f waf/ --for 2h --reason "scans the shop"
  $ wafsync block 192.0.2.1 198.51.100.0/24 --instance shop/shop --for 1d
  $ wafsync block 192.0.2.1 -f waf/ --no-wait

Exit codes: 0 blocked, 1 declared and not on the blocklist yet, 2 something is wrong and nothing was written, 130 stopped.
`,
    )
    .action(async (addresses, options) => {
      const { runBlock } = await import("../block-command.ts");
      setExitCode(await runBlock(addresses, options));
    });
}

export function addUnblockCommand(program: Command, setExitCode: SetExitCode): void {
  withWaitOptions(program.command("unblock"))
    .argument("<address...>", "addresses and networks")
    .option("--allow-for <duration>", "if another rule blocks it: allow the address for this time, for example 1h")
    .description("End what `wafsync block` began. Of other rules it says which must change.")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync unblock 192.0.2.1 -f waf/
  $ wafsync unblock 192.0.2.1 --instance shop/shop
  $ wafsync unblock 192.0.2.65 -f waf/ --allow-for 1h

Exit codes: 0 nothing blocks the addresses any more, 1 something still does, 2 something is wrong, 130 stopped.
`,
    )
    .action(async (addresses, options) => {
      const { runUnblock } = await import("../unblock-command.ts");
      setExitCode(await runUnblock(addresses, options));
    });
}
