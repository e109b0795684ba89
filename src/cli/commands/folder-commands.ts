// The commands that check and reconcile a folder: `validate`, `plan`, `apply` and `run`.
import { type OptionsOf, command, flag, format, text } from "./declare.ts";
import { folderOptions } from "./option-groups.ts";

const planOptions = {
  ...folderOptions,
  output: format("table", "json", "markdown"),
  base: text(
    "--base <directory>",
    "the folder without the change, as at the merge base: what its plan contains as well is marked as drift",
  ),
  full: flag("--full", "print every change in the table, not only the first with the same reason"),
};
const runOptions = {
  ...folderOptions,
  output: format("table", "json"),
  metricsAddress: text(
    "--metrics-address <address>",
    "address and port to serve metrics at, for example 127.0.0.1:8080; port 0 takes a free one",
  ),
  metricsFile: text(
    "--metrics-file <file>",
    "file NAME.prom to keep the metrics in, for node_exporter's textfile collector",
  ),
};
const applyOptions = {
  ...folderOptions,
  output: format("table", "json", "markdown"),
  plan: text("--plan <hash>", "write nothing unless the plan is the one with this hash, which `wafsync plan` prints"),
  yes: flag("-y, --yes", "remove entries without asking"),
};

const validateOptions = { from: folderOptions.from, state: folderOptions.state };

export type PlanOptions = OptionsOf<typeof planOptions>;
export type ValidateOptions = OptionsOf<typeof validateOptions>;
export type ApplyOptions = OptionsOf<typeof applyOptions>;
export type RunOptions = OptionsOf<typeof runOptions>;

export const folderCommands = [
  command("validate", {
    description: "Check the files, without an API key and without calling the WAF.",
    options: validateOptions,
    help: `
Examples:
  $ wafsync validate -f waf/

Exit codes: 0 all objects are valid, 1 some are not, 2 error.
`,
    load: async () => (await import("../validate-command.ts")).runValidate,
  }),
  command("plan", {
    description: "Show what would be changed, and why. Writes nothing.",
    options: planOptions,
    help: `
Examples:
  $ wafsync plan -f waf/ && echo 'in sync'
  $ wafsync plan -f waf/ --state /var/lib/wafsync -o json
  $ wafsync plan -f waf/ --base base/waf/ -o markdown > comment.md

Exit codes: 0 nothing to do, 1 the WAF differs from the declared state or a feed has a problem, 2 error.
`,
    load: async () => (await import("../reconcile-commands.ts")).runPlan,
  }),
  command("apply", {
    description: "Bring every WAF to its declared state, show the progress, and exit.",
    options: applyOptions,
    help: `
Examples:
  $ wafsync apply -f waf/
  $ wafsync apply -f waf/ --plan 0f1e2d3c4b5a
  $ wafsync apply -f waf/ --allow-insecure-http -o json

On a terminal, it first shows what it would remove, and asks. Without a terminal, and with --yes, --plan or another output format, it
does not ask.

Exit codes: 0 complete, 1 incomplete (rejected, on hold, conflict, suspended, feed with a problem, not confirmed) or another plan than
that of --plan, 2 error, 130 stopped.
`,
    load: async () => (await import("../reconcile-commands.ts")).runApply,
  }),
  command("run", {
    description: "Keep every WAF in its declared state, and apply changes to the files.",
    options: runOptions,
    help: `
Examples:
  $ wafsync run -f waf/
  $ wafsync run -f waf/ -o json
  $ wafsync run -f waf/ --metrics-address 127.0.0.1:8080

Exit codes: 0 stopped by a signal, 2 error.
`,
    load: async () => (await import("../reconcile-commands.ts")).runFollow,
  }),
];
