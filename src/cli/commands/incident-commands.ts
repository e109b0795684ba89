// The commands for people who look after WAFs: `status`, `block`, `unblock`, `allow`, `why`, `approve` and `history`.
import { Argument } from "commander";
import { type OptionsOf, command, flag, format, number, text } from "./declare.ts";
import { instanceVariable, readingOptions, targetOptions, timeHelp } from "./option-groups.ts";

const output = format("table", "json");
const addresses = new Argument("<address...>", "addresses and networks");

const statusOptions = { ...readingOptions, output };

const ruleOptions = {
  ...targetOptions,
  instance: text(
    "--instance <names>",
    "the WafInstances, as NAME or NAMESPACE/NAME, separated by commas (default: the only one)",
  ).env(instanceVariable),
  allInstances: flag("--all-instances", "every WafInstance of the folder or namespace"),
  output,
  wait: flag("--no-wait", "write the rule without waiting until the WAF lists the address"),
  timeout: number("--timeout <seconds>", "give up waiting after this time", [1, 3600], 120),
};

const blockOptions = {
  ...ruleOptions,
  for: text("--for <duration>", "remove the block after this time, for example 2h or 7d (default: never)"),
  // People who know the expiry of a rule look for it here.
  until: text("--until <time>", "").hideHelp(),
  reason: text("--reason <text>", "the reason, which becomes the description of the rule"),
};

const allowOptions = {
  ...ruleOptions,
  for: text("--for <duration>", "allow the address for this time, for example 30m or 2h"),
  reason: blockOptions.reason,
  end: flag("--end", "remove the rule that --for wrote"),
};

const whyOptions = { ...targetOptions, output };

const approveOptions = {
  ...targetOptions,
  output,
  yes: flag("-y, --yes", "approve without asking"),
  list: flag("--list", "print all removals, not only the first of each rule"),
  rule: text("--rule <name>", "approve only the removals of entries that this rule declared last"),
};

const historyOptions = {
  ...readingOptions,
  output,
  since: text("--since <time>", "start of the period", "7d"),
  until: text("--until <time>", "end of the period", "today"),
};

export type StatusOptions = OptionsOf<typeof statusOptions>;
export type RuleCommandOptions = OptionsOf<typeof ruleOptions>;
export type BlockOptions = OptionsOf<typeof blockOptions>;
export type AllowOptions = OptionsOf<typeof allowOptions>;
export type WhyOptions = OptionsOf<typeof whyOptions>;
export type ApproveOptions = OptionsOf<typeof approveOptions>;
export type HistoryOptions = OptionsOf<typeof historyOptions>;

export const incidentCommands = [
  command("status", {
    description: "Show what is pending, on hold or not Ready, and how to approve it. Does not call the WAF.",
    options: statusOptions,
    help: `
Examples:
  $ wafsync status -f waf/
  $ wafsync status -n shop
  $ wafsync status -f waf/ -o json

Exit codes: 0 all objects are Ready, 1 some objects are not or a file has an error, 2 error.
`,
    load: async () => (await import("../status-command.ts")).runStatus,
  }),
  command("block", {
    description: "Block addresses now: write a rule with a high priority, and wait until the WAF lists them.",
    argument: addresses,
    options: blockOptions,
    help: `
Examples:
  $ wafsync block 192.0.2.1 -f waf/ --for 2h --reason "scans the shop"
  $ wafsync block 192.0.2.1 198.51.100.0/24 --instance shop/shop --for 1d
  $ wafsync block 192.0.2.1 -f waf/ --no-wait

Exit codes: 0 blocked, 1 not on the blocklist yet, or also on the allowlist, 2 error (nothing was written unless the output says so), 130 stopped.
`,
    load: async () => (await import("../rule-commands.ts")).runBlock,
  }),
  command("unblock", {
    description: "Undo `wafsync block`. For other rules that block the address, show what must change.",
    argument: addresses,
    options: ruleOptions,
    help: `
Examples:
  $ wafsync unblock 192.0.2.1 -f waf/
  $ wafsync unblock 192.0.2.1 --instance shop/shop

Exit codes: 0 no address is blocked any longer, or the allowlist covers it, 1 an address or a part of a network is still blocked, 2 error,
130 stopped.
`,
    load: async () => (await import("../rule-commands.ts")).runUnblock,
  }),
  command("allow", {
    description: "Allow addresses for a time: write a rule that expires, and wait until the WAF lists them.",
    argument: addresses,
    options: allowOptions,
    help: `
Examples:
  $ wafsync allow 192.0.2.65 -f waf/ --for 30m --reason "customer, INC-4711"
  $ wafsync allow 192.0.2.65 --instance shop/shop --end

Exit codes: 0 allowed, 1 not on the allowlist yet, 2 error (nothing was written unless the output says so), 130 stopped.
With --end: 0 no address is allowed any longer, 1 an address is still allowed.
`,
    load: async () => (await import("../rule-commands.ts")).runAllow,
  }),
  command("why", {
    description: "Show what blocks or allows an address, for which rule and since when. Writes nothing.",
    argument: new Argument("<address>", "an address, or a network that an entry must cover completely"),
    options: whyOptions,
    help: `
Examples:
  $ wafsync why 192.0.2.1 -f waf/
  $ wafsync why 2001:db8::1 --instance shop/shop
  $ wafsync why 192.0.2.1 -f waf/ -o json

Exit codes: 0 blocked, 1 not blocked, 2 error, 3 allowed. With several WAFs: the first of 0, 3 and 1 that applies to any of them.
`,
    load: async () => (await import("../why-command.ts")).runWhy,
  }),
  command("approve", {
    description:
      "Show the removals on hold, grouped by the rule that last declared the entries, and approve exactly these removals.",
    options: approveOptions,
    help: `
Examples:
  $ wafsync approve -f waf/
  $ wafsync approve --instance shop/shop --yes
  $ wafsync approve --instance shop/shop --rule scanners

Exit codes: 0 approved, or nothing is on hold; 1 not approved, 2 error, 130 stopped.
`,
    load: async () => (await import("../approve-command.ts")).runApprove,
  }),
  command("history", {
    description: "Show what was added, removed, adopted, rejected and approved, and for which rule.",
    argument: new Argument("[address]", "show only changes of entries that cover this address or network"),
    options: historyOptions,
    help: `
${timeHelp}

Examples:
  $ wafsync history -f waf/
  $ wafsync history 192.0.2.1 -f waf/ --since 30d
  $ wafsync history --instance shop/shop --since 2026-11-20

Exit codes: 0 there are changes in the period, 1 there are none, 2 error.
`,
    load: async () => (await import("../history-command.ts")).runHistory,
  }),
];
