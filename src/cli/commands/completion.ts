// The options of `wafsync completion`.
import { Argument } from "commander";
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";

const shells = ["bash", "zsh", "fish"] as const;

export function addCompletionCommand(program: Command, setExitCode: SetExitCode): void {
  program
    .command("completion")
    .description("Print a shell completion script for commands, options, files and names.")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync completion bash > ~/.local/share/bash-completion/completions/wafsync
  $ wafsync completion zsh > "\${fpath[1]}/_wafsync"
  $ wafsync completion fish > ~/.config/fish/completions/wafsync.fish

For the current shell only: source <(wafsync completion bash), or wafsync completion fish | source.
`,
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { completionScript } = await import("../completion/completion-scripts.ts");
      process.stdout.write(completionScript(shell));
      setExitCode(0);
    });
}
