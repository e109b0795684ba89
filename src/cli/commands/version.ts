// The options of `wafsync version`.
import type { Command } from "commander";
import { Option } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { withClusterOptions } from "./option-groups.ts";

export function addVersionCommand(program: Command, setExitCode: SetExitCode): void {
  withClusterOptions(program.command("version"))
    .description("Print the versions of wafsync, Node.js and, if there is a kubeconfig, the API server.")
    .option("--client", "do not contact the API server", false)
    .addOption(new Option("-o, --output <format>", "output format").choices(["table", "json"]).default("table"))
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync version
  $ wafsync version --context staging -o json

Exit codes: 0, or 2 if the API server of --kubeconfig or --context does not respond.
`,
    )
    .action(async (options) => {
      const { runVersion } = await import("../version-command.ts");
      setExitCode(await runVersion(options));
    });
}
