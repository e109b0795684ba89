// The options of `wafsync simulator`.
import type { Command } from "commander";
import { collect, wholeNumber } from "./option-groups.ts";
import type { SetExitCode } from "./option-groups.ts";

export function addSimulatorCommand(program: Command, setExitCode: SetExitCode): void {
  program
    .command("simulator")
    .description("Serve the WAF API from memory on this machine, for trials and tests. Strict about the API's rules.")
    .option("--port <n>", "port of the API; 0 takes a free one", wholeNumber(0, 65_535), 8080)
    .option(
      "--control-port <n>",
      "port for inspecting the state and injecting faults; 0 takes a free one",
      wholeNumber(0, 65_535),
      0,
    )
    .option("--key <key[=domain]>", "an API key and the domain that it belongs to; repeatable", collect)
    .option("--latency <ms>", "delay of each call", wholeNumber(0, 60_000), 0)
    .option(
      "--spelling <mode>",
      "spelling of addresses in lists, for example AsGiven, AddPrefix, Expanded or UpperCase",
      "AsGiven",
    )
    .option("--overlap <mode>", "what to do with overlapping requests of one key: Refuse or Record", "Refuse")
    .option("--scenario <name>", "log scenario: Uniform, or Attack for waves of attacks from a few networks", "Uniform")
    .option(
      "--log-rows <n>",
      "blocked requests per day (default: 200, with --scenario Attack 5000)",
      wholeNumber(0, 1_000_000),
    )
    .option("--seed <n>", "seed for the generated logs", wholeNumber(0, 4_294_967_295), 1)
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync simulator --port 8080 --key demo-key=www.example.com --latency 5
  $ wafsync simulator --port 8080 --scenario Attack
`,
    )
    .action(async (options) => {
      const { runSimulator } = await import("../simulator-command.ts");
      setExitCode(await runSimulator({ key: [], ...options }));
    });
}
