// The options of `wafsync block` and `wafsync unblock`.
import type { Command } from "commander";
import { Option } from "commander";
import { CommandError } from "../describe-error.ts";
import type { SetExitCode } from "./option-groups.ts";
import { wholeNumber } from "./option-groups.ts";
import { withTargetOptions } from "./target-options.ts";

function withWaitOptions(command: Command): Command {
  return withTargetOptions(command)
    .option("--no-wait", "write the rule without waiting until the WAF lists the address")
    .option("--timeout <seconds>", "give up waiting after this time", wholeNumber(1, 3600), 120);
}

export function addBlockCommand(program: Command, setExitCode: SetExitCode): void {
  withWaitOptions(program.command("block"))
    .argument("<address...>", "addresses and networks")
    .option("--for <duration>", "remove the block after this time, for example 2h or 7d (default: never)")
    // People who know the expiry of a rule look for it here.
    .addOption(new Option("--until <time>").hideHelp())
    .option("--reason <text>", "the reason, which becomes the description of the rule")
    .description("Block addresses now: write a rule with a high priority, and wait until the WAF lists them.")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync block 192.0.2.1 -f waf/ --for 2h --reason "scans the shop"
  $ wafsync block 192.0.2.1 198.51.100.0/24 --instance shop/shop --for 1d
  $ wafsync block 192.0.2.1 -f waf/ --no-wait

Exit codes: 0 blocked, 1 not on the blocklist yet, or also on the allowlist, 2 error (nothing was written), 130 stopped.
`,
    )
    .action(async (addresses, { until, ...options }) => {
      if (until !== undefined)
        throw new CommandError("block has no option --until", "Use --for, for example --for 2h.");
      const { runBlock } = await import("../block-command.ts");
      setExitCode(await runBlock(addresses, options));
    });
}

export function addUnblockCommand(program: Command, setExitCode: SetExitCode): void {
  withWaitOptions(program.command("unblock"))
    .argument("<address...>", "addresses and networks")
    .option("--allow-for <duration>", "if another rule blocks the address, allow it for this time, for example 1h")
    .option("--end-exception", "remove the exception that --allow-for made", false)
    .description("Undo `wafsync block`. For other rules that block the address, show what must change.")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync unblock 192.0.2.1 -f waf/
  $ wafsync unblock 192.0.2.1 --instance shop/shop
  $ wafsync unblock 192.0.2.65 -f waf/ --allow-for 1h
  $ wafsync unblock 192.0.2.65 -f waf/ --end-exception

Exit codes: 0 no address is blocked any longer, 1 an address or a part of a network is still blocked, 2 error, 130 stopped.
With --end-exception: 0 no address is allowed any longer, 1 an address is still allowed.
`,
    )
    .action(async (addresses, options) => {
      const { runUnblock } = await import("../unblock-command.ts");
      setExitCode(await runUnblock(addresses, options));
    });
}
