// The options of `wafsync operator`.
import { Option } from "commander";
import type { Command } from "commander";
import { wholeNumber, withClusterOptions } from "./option-groups.ts";
import type { SetExitCode } from "./option-groups.ts";

export function addOperatorCommand(program: Command, setExitCode: SetExitCode): void {
  withClusterOptions(program.command("operator"))
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
    )
    .action(async (options) => {
      const { runOperatorCommand } = await import("../operator-command.ts");
      setExitCode(await runOperatorCommand(options));
    });
}
