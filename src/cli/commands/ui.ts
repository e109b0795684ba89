// The options of `wafsync ui`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { withAllOfTargetOptions } from "./target-options.ts";

export function addUiCommand(program: Command, setExitCode: SetExitCode): void {
  withAllOfTargetOptions(program.command("ui"))
    .option(
      "--bind-address <address>",
      "address and port to serve the page at; port 0 takes a free one",
      "127.0.0.1:8082",
    )
    .description("Serve a read-only page that shows the state of all WAFs, and what is waiting and why.")
    .addHelpText(
      "after",
      `
In a cluster, the page shows what your own permissions allow, in all namespaces unless -n names one.

Examples:
  $ wafsync ui -f waf/
  $ wafsync ui --context staging
  $ wafsync ui -n shop --bind-address 127.0.0.1:0

Exit codes: 0 stopped by a signal, 2 error.
`,
    )
    .action(async (options) => {
      const { runUi } = await import("../ui-command.ts");
      setExitCode(await runUi(options));
    });
}
