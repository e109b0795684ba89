// The options of the commands for people who look after WAFs: `status`, `block`, `unblock`, `why`, `approve` and `history`.
import type { Command } from "commander";
import { Option } from "commander";
import { CommandError } from "../describe-error.ts";
import type { AddCommand } from "./option-groups.ts";
import { tableOrJson, timeHelp, wholeNumber, withTargetOptions } from "./option-groups.ts";

function statusCommand(program: Command) {
  return withTargetOptions(program.command("status"), tableOrJson, false)
    .option("-w, --watch", "keep showing the status whenever it changes, until interrupted", false)
    .description("Show what is pending, on hold or not Ready, and how to approve it. Does not call the WAF.")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync status -f waf/
  $ wafsync status -n shop --watch
  $ wafsync status -f waf/ -o json

Exit codes: 0 all objects are Ready, 1 some objects are not or a file has an error, 2 error, 130 --watch was stopped.
`,
    );
}

function withWaitOptions(command: Command) {
  return withTargetOptions(command, tableOrJson)
    .option("--no-wait", "write the rule without waiting until the WAF lists the address")
    .option("--timeout <seconds>", "give up waiting after this time", wholeNumber(1, 3600), 120);
}

function blockCommand(program: Command) {
  return (
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
  );
}

function unblockCommand(program: Command) {
  return withWaitOptions(program.command("unblock"))
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
    );
}

function whyCommand(program: Command) {
  return withTargetOptions(program.command("why"), ["table", "json", "markdown"])
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
    );
}

function approveCommand(program: Command) {
  return withTargetOptions(program.command("approve"), tableOrJson)
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
    );
}

function historyCommand(program: Command) {
  return withTargetOptions(program.command("history"), ["table", "json", "markdown"], false)
    .argument("[address]", "show only changes of entries that cover this address or network")
    .option("--since <time>", "start of the period", "7d")
    .option("--until <time>", "end of the period", "today")
    .description("Show what was added, removed, adopted, rejected and approved, and for which rule.")
    .addHelpText(
      "after",
      `
${timeHelp}

Examples:
  $ wafsync history -f waf/
  $ wafsync history 192.0.2.1 -f waf/ --since 30d
  $ wafsync history --instance shop/shop --since 2026-11-20 -o markdown

Exit codes: 0 there are changes in the period, 1 there are none, 2 error.
`,
    );
}

export const incidentCommands: readonly AddCommand[] = [
  (program, ends) =>
    statusCommand(program).action(
      ends(async (options) => await (await import("../status-command.ts")).runStatus(options)),
    ),
  (program, ends) =>
    blockCommand(program).action(
      ends(async (addresses, { until, ...options }) => {
        if (until !== undefined)
          throw new CommandError("block has no option --until", "Use --for, for example --for 2h.");
        return await (await import("../block-command.ts")).runBlock(addresses, options);
      }),
    ),
  (program, ends) =>
    unblockCommand(program).action(
      ends(async (addresses, options) => await (await import("../unblock-command.ts")).runUnblock(addresses, options)),
    ),
  (program, ends) =>
    whyCommand(program).action(
      ends(async (address, options) => await (await import("../why-command.ts")).runWhy(address, options)),
    ),
  (program, ends) =>
    approveCommand(program).action(
      ends(async (options) => await (await import("../approve-command.ts")).runApprove(options)),
    ),
  (program, ends) =>
    historyCommand(program).action(
      ends(async (address, options) => await (await import("../history-command.ts")).runHistory(address, options)),
    ),
];
