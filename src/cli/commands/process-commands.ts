// The commands that keep running, `ui`, `operator` and `simulator`, and `completion`.
import { Argument } from "commander";
import { type OptionsOf, choice, command, flag, number, text, texts } from "./declare.ts";
import { allowedBaseUrls, allowPrivateFeeds, clusterOptions, placeOptions } from "./option-groups.ts";

const uiOptions = {
  ...placeOptions,
  bindAddress: text(
    "--bind-address <address>",
    "address and port to serve the page at; port 0 takes a free one",
    "127.0.0.1:8082",
  ),
};

const operatorOptions = {
  ...clusterOptions,
  namespace: text(
    "-n, --namespace <name>",
    "manage only this namespace, for which a Role is sufficient (default: all namespaces)",
  ),
  leaderElect: flag("--leader-elect", "reconcile only while holding a Lease, so that several replicas can run"),
  leaseNamespace: text("--lease-namespace <name>", "namespace of the Lease (default: POD_NAMESPACE, or --namespace)"),
  leaseName: text("--lease-name <name>", "name of the Lease (default: wafsync-operator, and a hash of --selector)"),
  selector: text(
    "-l, --selector <labels>",
    "reconcile only instances with these labels, for several operators in a cluster",
  ),
  allowedBaseUrls,
  allowInsecureHttp: flag("--allow-insecure-http", "allow base URLs and feeds with http://, for trials"),
  allowPrivateFeeds,
  allowPrivateNetworks: flag(
    "--allow-private-networks",
    "allow base URLs that resolve to loopback, private and link-local addresses without --allowed-base-urls",
  ),
  maxListEntries: number("--max-list-entries <n>", "maximum entries in a list of one WAF", [1000, 1_000_000], 100_000),
  maxResponseMib: number("--max-response-mib <n>", "maximum size of a response from a WAF", [1, 64], 16),
  maxLogRows: number("--max-log-rows <n>", "maximum log rows of one WAF per hour and per day", [1e4, 4e6], 1_000_000),
  logLevel: choice(
    "--log-level <level>",
    "lowest severity to log",
    ["debug", "info", "warn", "error", "silent"],
    "info",
  ),
  host: text("--host <address>", "address to serve health and metrics on (default: all)"),
  healthPort: number("--health-port <n>", "port of /healthz and /readyz; 0 takes a free one", [0, 65_535], 8081),
  metricsPort: number("--metrics-port <n>", "port of /metrics; 0 takes a free one", [0, 65_535], 8080),
  otlpEndpoint: text(
    "--otlp-endpoint <url>",
    "OpenTelemetry collector for logs with the output OTLP (default: the environment variable OTEL_EXPORTER_OTLP_ENDPOINT)",
  ),
};

const simulatorOptions = {
  port: number("--port <n>", "port of the API; 0 takes a free one", [0, 65_535], 8080),
  controlPort: number(
    "--control-port <n>",
    "port for inspecting the state and injecting faults; 0 takes a free one",
    [0, 65_535],
    0,
  ),
  key: texts("--key <key[=domain]>", "an API key and the domain that it belongs to; repeatable"),
  latency: number("--latency <ms>", "delay of each call", [0, 60_000], 0),
  logRows: number("--log-rows <n>", "blocked requests per day", [0, 1_000_000], 200),
};

export type UiOptions = OptionsOf<typeof uiOptions>;
export type OperatorCommandOptions = OptionsOf<typeof operatorOptions>;
export type SimulatorOptions = OptionsOf<typeof simulatorOptions>;

export const processCommands = [
  command("ui", {
    description: "Serve a read-only page that shows the state of all WAFs, and what is waiting and why.",
    options: uiOptions,
    help: `
In a cluster, the page shows what your own permissions allow, in the namespace of -n or of the context, or with -A in all namespaces.

Examples:
  $ wafsync ui -f waf/
  $ wafsync ui --context staging -A
  $ wafsync ui -n shop --bind-address 127.0.0.1:0

Exit codes: 0 stopped by a signal, 2 error.
`,
    load: async () => (await import("../ui-command.ts")).runUi,
  }),
  command("operator", {
    description: "Keep every WAF of a cluster in the state that its custom resources declare.",
    options: operatorOptions,
    help: `
Example:
  $ wafsync operator --kubeconfig ~/.kube/config --allow-insecure-http --allow-private-networks
`,
    load: async () => (await import("../operator-command.ts")).runOperatorCommand,
  }),
  command("simulator", {
    description: "Serve the WAF API from memory on this machine, for trials and tests. Strict about the API's rules.",
    options: simulatorOptions,
    help: `
Examples:
  $ wafsync simulator --port 8080 --key demo-key=www.example.com --latency 5
  $ wafsync simulator --port 8080 --log-rows 5000
`,
    load: async () => (await import("../simulator-command.ts")).runSimulator,
  }),
  command("completion", {
    description: "Print a shell completion script for commands, options and their values.",
    argument: new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]),
    options: {},
    help: `
Examples:
  $ wafsync completion bash > ~/.local/share/bash-completion/completions/wafsync
  $ wafsync completion zsh > "\${fpath[1]}/_wafsync"
  $ wafsync completion fish > ~/.config/fish/completions/wafsync.fish

For the current shell only: source <(wafsync completion bash), or wafsync completion fish | source.
`,
    load: async () => (await import("../completion/completion-scripts.ts")).runCompletion,
  }),
];
