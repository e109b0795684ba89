// The program `wafsync`: its commands and their options. What a command does is loaded when it is called; this file alone
// sets the exit code.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { readEnvironment } from "../app/config.ts";
import { CommandError, describeError } from "./describe-error.ts";
import { addLogsCommand } from "./logs/add-logs-command.ts";
import { addReportCommand } from "./report/add-report-command.ts";

const exitError = 2;

const exitCodes = `
Exit codes of plan: 0 nothing to do, 1 there are changes, 2 something is wrong.
Exit codes of apply and run --once: 0 all done, 1 something is left (refused, held, conflict), 2 something is wrong.
Exit code of whatever is stopped by a signal before it is done: 130.`;

type SetExitCode = (code: number) => void;

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`);
  };
}

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

function withDirectoryOptions(command: Command): Command {
  return command
    .requiredOption(
      "-f, --from <directory>",
      "folder with the YAML files (WafInstance, WafIpRule, …, Secret, ConfigMap)",
    )
    .option("--state <directory>", "folder for the inventory and status (default: .wafsync in that folder)")
    .option("--allow-insecure-http", "allow base URLs with http://, for trials on a laptop", false)
    .option("--allowed-base-urls <urls>", "only call APIs below these URLs, separated by commas")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["table", "json"]).default("table"));
}

function addDirectoryCommands(program: Command, setExitCode: SetExitCode): void {
  withDirectoryOptions(program.command("plan"))
    .description("Show what would be changed, and why. Writes nothing.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync plan -f waf/ && echo 'in sync'\n  $ wafsync plan -f waf/ --state /var/lib/wafsync -o json\n\nExit codes: 0 nothing to do, 1 there are changes, 2 something is wrong.\n",
    )
    .action(async (options) => {
      const { runPlan } = await import("./plan-command.ts");
      setExitCode(await runPlan(options));
    });
  withDirectoryOptions(program.command("apply"))
    .description("Bring every WAF to its declared state, show the progress, and end.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync apply -f waf/\n  $ wafsync apply -f waf/ --allow-insecure-http -o json\n\nExit codes: 0 all done, 1 something is left (refused, held, conflict), 2 something is wrong, 130 stopped.\n",
    )
    .action(async (options) => {
      const { runApply } = await import("./apply-command.ts");
      setExitCode(await runApply({ ...options, showsProgress: true }));
    });
  withDirectoryOptions(program.command("run"))
    .description("Keep every WAF in its declared state, following changes of the files.")
    .option("--once", "bring every WAF to its declared state once, and end", false)
    .addHelpText(
      "after",
      "\nExamples:\n  $ wafsync run --from waf/\n  $ wafsync run --from waf/ --once -o json\n\nExit codes of --once: as of apply.\n",
    )
    .action(async (options) => {
      if (options.once) {
        const { runApply } = await import("./apply-command.ts");
        setExitCode(await runApply({ ...options, showsProgress: false }));
        return;
      }
      const { runFollow } = await import("./run-command.ts");
      setExitCode(await runFollow(options));
    });
}

function addClearCacheCommand(program: Command, setExitCode: SetExitCode): void {
  const elsewhere = ["baseUrl", "keyFile", "expectedDomain"];
  program
    .command("clear-cache")
    .description(
      "Start a clear of the whole cache of one WAF, for pipelines: through an operator, or by a call of its own.",
    )
    .addOption(
      new Option("--instance <namespace/name>", "WafInstance of a cluster; creates a WafCacheClear").conflicts(
        elsewhere,
      ),
    )
    .addOption(new Option("--namespace <name>", "with --instance: where to create it (default: that of the instance)"))
    .addOption(new Option("--trigger <text>", "with --instance: clear once for this text, for example a commit"))
    .option("--wait", "with --instance: wait until the cache is cleared", false)
    .option(
      "--ttl <seconds>",
      "with --instance: delete the object this long after its end",
      wholeNumber(60, 31_536_000),
      86_400,
    )
    .option(
      "--kubeconfig <file>",
      "with --instance: kubeconfig (default: as kubectl does, or the pod's service account)",
    )
    .option("--context <name>", "with --instance: context of the kubeconfig (default: the current one)")
    .option("--base-url <url>", "base URL of the WAF's API, to call it without a cluster")
    .option("--key-file <file>", "file that holds the API key (default: the environment variable WAFSYNC_API_KEY)")
    .option("--expected-domain <domain>", "do nothing unless the key belongs to this domain")
    .option("--retries <n>", "attempts after the first that failed", wholeNumber(0, 20), 3)
    .option("--timeout <seconds>", "give up after this time", wholeNumber(1, 3600), 300)
    .option("--allow-insecure-http", "allow a base URL with http://, for trials on a laptop", false)
    .addOption(new Option("-o, --output <format>", "how to print").choices(["table", "json"]).default("table"))
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync clear-cache --instance shop/shop --trigger "$(git rev-parse HEAD)" --wait
  $ WAFSYNC_API_KEY=… wafsync clear-cache --base-url https://waf.example.com
`,
    )
    .action(async (options) => setExitCode(await clearCache(options)));
}

async function clearCache(options: {
  readonly instance?: string;
  readonly baseUrl?: string;
  readonly trigger?: string;
  readonly namespace?: string;
  readonly [option: string]: unknown;
}): Promise<number> {
  const { instance, baseUrl, ...rest } = options;
  if (instance !== undefined) {
    const { runClearCacheInCluster } = await import("./clear-cache-cluster-command.ts");
    return await runClearCacheInCluster({ ...rest, instance } as Parameters<typeof runClearCacheInCluster>[0]);
  }
  if (baseUrl === undefined) {
    throw new CommandError(
      "it is not said which cache to clear",
      "Write --instance NAMESPACE/NAME for an instance of a cluster, or --base-url URL for a WAF without one.",
    );
  }
  if (rest.trigger !== undefined || rest.namespace !== undefined) {
    throw new CommandError("--trigger and --namespace need --instance: without a cluster nobody remembers triggers");
  }
  const { runClearCache } = await import("./clear-cache-command.ts");
  return await runClearCache({ ...rest, baseUrl } as Parameters<typeof runClearCache>[0]);
}

function addOperatorCommand(program: Command, setExitCode: SetExitCode): void {
  program
    .command("operator")
    .description("Keep every WAF of a cluster in the state that its custom resources declare.")
    .option(
      "--kubeconfig <file>",
      "kubeconfig (default: KUBECONFIG, ~/.kube/config, or the service account of the pod)",
    )
    .option("--context <name>", "context of the kubeconfig (default: the current one)")
    .option("--namespace <name>", "work in this namespace alone; Roles are enough then (default: all namespaces)")
    .option("--leader-elect", "work only while holding a Lease, so that several replicas can run", false)
    .option("--lease-namespace <name>", "namespace of the Lease (default: POD_NAMESPACE, or --namespace)")
    .option("--lease-name <name>", "name of the Lease", "wafsync-operator")
    .option("--allowed-base-urls <urls>", "only call APIs below these URLs, separated by commas")
    .option("--allow-insecure-http", "allow base URLs with http://, for trials", false)
    .addOption(
      new Option("--log-level <level>", "what is logged")
        .choices(["debug", "info", "warn", "error", "silent"])
        .default("info"),
    )
    .addOption(
      new Option("--log-format <format>", "how it is logged (default: text on a terminal, else json)").choices([
        "json",
        "text",
      ]),
    )
    .option("--host <address>", "address to serve health and metrics on (default: all)")
    .option("--health-port <n>", "port of /healthz and /readyz; 0 takes a free one", wholeNumber(0, 65_535), 8081)
    .option("--metrics-port <n>", "port of /metrics; 0 takes a free one", wholeNumber(0, 65_535), 8080)
    .option(
      "--otlp-endpoint <url>",
      "OpenTelemetry collector for logs with the output OTLP (default: the environment variable OTEL_EXPORTER_OTLP_ENDPOINT)",
    )
    .addHelpText("after", "\nExample:\n  $ wafsync operator --kubeconfig ~/.kube/config --allow-insecure-http\n")
    .action(async (options) => {
      const { runOperatorCommand } = await import("./operator-command.ts");
      setExitCode(await runOperatorCommand(options));
    });
}

function addSimulatorCommand(program: Command, setExitCode: SetExitCode): void {
  program
    .command("simulator")
    .description("Serve the WAF API from memory on this machine, strictly, for trials and tests.")
    .option("--port <n>", "port of the API; 0 takes a free one", wholeNumber(0, 65_535), 8080)
    .option(
      "--control-port <n>",
      "port that shows state and takes faults; 0 takes a free one",
      wholeNumber(0, 65_535),
      0,
    )
    .option("--key <key[=domain]>", "an API key and the domain that it belongs to; may be given again", collect, [])
    .option("--latency <ms>", "time that each call takes", wholeNumber(0, 60_000), 0)
    .option(
      "--spelling <mode>",
      "how lists spell addresses, for example AsGiven, AddPrefix, Expanded or UpperCase",
      "AsGiven",
    )
    .option("--overlap <mode>", "Refuse or Record requests of one key that overlap", "Refuse")
    .option("--log-rows <n>", "blocked requests a day", wholeNumber(0, 1_000_000), 200)
    .addHelpText("after", "\nExample:\n  $ wafsync simulator --port 8080 --key demo-key=www.example.com --latency 5\n")
    .action(async (options) => {
      const { runSimulator } = await import("./simulator-command.ts");
      setExitCode(await runSimulator(options));
    });
}

/** Before anything is loaded that calls the WAF: the path of a request holds the key, and Node.js would print it. */
function refuseDebugOutput(): void {
  if (readEnvironment().nodeDebug === undefined) return;
  throw new CommandError(
    "the environment variable NODE_DEBUG is set, and what Node.js then prints can hold API keys",
    "Run wafsync without it, for example: env -u NODE_DEBUG wafsync …",
  );
}

function createProgram(setExitCode: SetExitCode): Command {
  const program = new Command("wafsync")
    .description("Keeps a hosted web application firewall in the state that its users declare.")
    .version(packageJson.version, "-V, --version", "print the version")
    .option("--debug", "print the stack of an unexpected error")
    .helpOption("-h, --help", "print this help")
    .showHelpAfterError("(--help lists commands and options)")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync simulator --port 8080 --key demo-key=www.example.com &
  $ wafsync plan  -f examples/directory --allow-insecure-http
  $ wafsync apply -f examples/directory --allow-insecure-http
  $ wafsync run --from examples/directory --allow-insecure-http
${exitCodes}`,
    )
    .hook("preAction", refuseDebugOutput)
    .exitOverride();
  addDirectoryCommands(program, setExitCode);
  addClearCacheCommand(program, setExitCode);
  addOperatorCommand(program, setExitCode);
  addLogsCommand(program, wholeNumber, setExitCode);
  addReportCommand(program, wholeNumber, setExitCode);
  addSimulatorCommand(program, setExitCode);
  for (const command of program.commands) command.exitOverride().showHelpAfterError("(--help lists the options)");
  return program;
}

/** Whoever reads the output may stop reading (`| head`): the work is done all the same, and the exit code tells of it. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

async function main(): Promise<number> {
  outliveReaders();
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitError;
    const isDebug = program.opts<{ debug?: boolean }>().debug === true;
    process.stderr.write(describeError(error, isDebug));
    return exitError;
  }
}

process.exitCode = await main();
