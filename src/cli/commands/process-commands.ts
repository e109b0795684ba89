// The options of the commands that keep running, `ui`, `operator` and `simulator`, and of those about wafsync itself.
import type { Command } from "commander";
import { Argument, Option } from "commander";
import type { AddCommand } from "./option-groups.ts";
import { collect, wholeNumber, withClusterOptions, withPlaceOptions } from "./option-groups.ts";

function uiCommand(program: Command) {
  return withPlaceOptions(program.command("ui"))
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
    );
}

function operatorCommand(program: Command) {
  return withClusterOptions(program.command("operator"))
    .description("Keep every WAF of a cluster in the state that its custom resources declare.")
    .option(
      "-n, --namespace <name>",
      "manage only this namespace, for which a Role is sufficient (default: all namespaces)",
    )
    .option("--leader-elect", "reconcile only while holding a Lease, so that several replicas can run", false)
    .option("--lease-namespace <name>", "namespace of the Lease (default: POD_NAMESPACE, or --namespace)")
    .option("--lease-name <name>", "name of the Lease (default: wafsync-operator, and a hash of --selector)")
    .option("-l, --selector <labels>", "reconcile only instances with these labels, for several operators in a cluster")
    .option("--allowed-base-urls <urls>", "call only APIs below these URLs, separated by commas")
    .option("--allow-insecure-http", "allow base URLs and feeds with http://, for trials", false)
    .option("--allow-private-feeds", "allow feeds whose addresses are not on the public Internet", false)
    .option(
      "--allow-private-networks",
      "allow base URLs that resolve to loopback, private and link-local addresses without --allowed-base-urls",
      false,
    )
    .option("--max-list-entries <n>", "maximum entries in a list of one WAF", wholeNumber(1000, 1_000_000), 100_000)
    .option("--max-response-mib <n>", "maximum size of a response from a WAF", wholeNumber(1, 64), 16)
    .option("--max-log-rows <n>", "maximum log rows of one WAF per hour and per day", wholeNumber(1e4, 4e6), 1_000_000)
    .addOption(
      new Option("--log-level <level>", "lowest severity to log")
        .choices(["debug", "info", "warn", "error", "silent"])
        .default("info"),
    )
    .addOption(
      new Option("--log-format <format>", "log format (default: text on a terminal, json otherwise)").choices([
        "json",
        "text",
      ]),
    )
    .option("--host <address>", "address to serve health and metrics on (default: all)")
    .option("--health-port <n>", "port of /healthz and /readyz; 0 takes a free one", wholeNumber(0, 65_535), 8081)
    .option("--metrics-port <n>", "port of /metrics; 0 takes a free one", wholeNumber(0, 65_535), 8080)
    .option(
      "--ui-bind-address <address>",
      "address and port of a read-only page about all WAFs, for kubectl port-forward; 0 serves none",
      "127.0.0.1:8082",
    )
    .option(
      "--otlp-endpoint <url>",
      "OpenTelemetry collector for logs with the output OTLP (default: the environment variable OTEL_EXPORTER_OTLP_ENDPOINT)",
    )
    .addHelpText(
      "after",
      "\nExample:\n  $ wafsync operator --kubeconfig ~/.kube/config --allow-insecure-http --allow-private-networks\n",
    );
}

function simulatorCommand(program: Command) {
  return program
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
    );
}

function completionCommand(program: Command) {
  return program
    .command("completion")
    .description("Print a shell completion script for commands, options, files and names.")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync completion bash > ~/.local/share/bash-completion/completions/wafsync
  $ wafsync completion zsh > "\${fpath[1]}/_wafsync"
  $ wafsync completion fish > ~/.config/fish/completions/wafsync.fish

For the current shell only: source <(wafsync completion bash), or wafsync completion fish | source.
`,
    );
}

function versionCommand(program: Command) {
  return withClusterOptions(program.command("version"))
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
    );
}

export const processCommands: readonly AddCommand[] = [
  (program, ends) =>
    uiCommand(program).action(ends(async (options) => await (await import("../ui-command.ts")).runUi(options))),
  (program, ends) =>
    operatorCommand(program).action(
      ends(async (options) => await (await import("../operator-command.ts")).runOperatorCommand(options)),
    ),
  (program, ends) =>
    simulatorCommand(program).action(
      ends(async (options) => await (await import("../simulator-command.ts")).runSimulator(options)),
    ),
  (program, ends) =>
    completionCommand(program).action(
      ends(async (shell) => {
        const { completionScript } = await import("../completion/completion-scripts.ts");
        process.stdout.write(completionScript(shell));
        return 0;
      }),
    ),
  (program, ends) =>
    versionCommand(program).action(
      ends(async (options) => await (await import("../version-command.ts")).runVersion(options)),
    ),
];
