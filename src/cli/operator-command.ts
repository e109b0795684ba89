// `wafsync operator`: keeps all WAFs of a cluster in the state that its custom resources declare, until a signal.
import { hostname } from "node:os";
import packageJson from "../../package.json" with { type: "json" };
import { type Environment, readEnvironment } from "../app/config.ts";
import { runOperator } from "../app/operator.ts";
import { realClock } from "../async/clock.ts";
import { type Collector, readHeaders } from "../logs/otlp-logs.ts";
import type { LabelSelector } from "../model/declared.ts";
import { hexDigest } from "../model/hex-digest.ts";
import { parseSelector } from "../app/selected-instances.ts";
import { createLogger } from "../telemetry/log.ts";
import type { OperatorCommandOptions } from "./commands/process-commands.ts";
import { CommandError } from "./describe-error.ts";
import { readKubeConfig } from "./read-kube-config.ts";
import { withSession } from "./session.ts";
import { policyOf } from "./targets/open-target.ts";

/** How long a WAF call may continue after a signal: as long as any call may take. */
const graceMs = 10_000;
const defaultLeaseName = "wafsync-operator";

/** @throws CommandError if a value is invalid; the message omits it, because it may contain a password */
function readCollector(option: string | undefined, { otlp }: Pick<Environment, "otlp">): Collector | undefined {
  const endpoint = option ?? otlp.endpoint;
  if (endpoint === undefined) return undefined;
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? "")) {
    throw new CommandError(
      `${option === undefined ? "OTEL_EXPORTER_OTLP_ENDPOINT" : "--otlp-endpoint"} is not an http or https URL`,
      "Set it to the base URL of the collector, for example http://otel-collector:4318.",
    );
  }
  const headers = readHeaders(otlp.headers ?? "");
  if (headers !== undefined) return { endpoint, headers };
  throw new CommandError("OTEL_EXPORTER_OTLP_HEADERS is invalid", "Write name=value,name=value, percent-encoded.");
}

/** @returns 0 if it was stopped by a signal, 1 if the Lease was lost. */
export async function runOperatorCommand(options: OperatorCommandOptions): Promise<number> {
  return await withSession(async ({ redactor, stopping: begin }) => {
    const environment = readEnvironment();
    const log = createLogger({ level: options.logLevel, redact: (text) => redactor.redact(text) });
    const stopping = begin();
    stopping.stop.addEventListener("abort", () => log.info("stopping", { signal: stopping.stop.reason }));
    const leaseNamespace = options.leaseNamespace ?? environment.podNamespace ?? options.namespace;
    if (options.leaderElect && leaseNamespace === undefined) {
      throw new CommandError(
        "the namespace of the Lease is unknown",
        "Set --lease-namespace or the environment variable POD_NAMESPACE.",
      );
    }
    const { selector } = options;
    // Operators with different selectors work at the same time, so each selector has a Lease of its own.
    const ownLease = selector === undefined ? defaultLeaseName : `${defaultLeaseName}-${hexDigest(selector, 8)}`;
    const lease = { namespace: leaseNamespace ?? "", name: options.leaseName ?? ownLease };
    const outcome = await runOperator({
      selector: selector === undefined ? undefined : readSelector(selector),
      kubeConfig: readKubeConfig(options),
      namespace: options.namespace,
      lease: options.leaderElect ? lease : undefined,
      podName: environment.podName ?? hostname(),
      baseUrls: { ...policyOf(options), allowPrivateNetworks: options.allowPrivateNetworks },
      limits: { listEntriesMax: options.maxListEntries, bodyBytesMax: options.maxResponseMib * 1_048_576 },
      logRowsMax: options.maxLogRows,
      feedPolicy: { allowInsecureHttp: options.allowInsecureHttp, allowPrivateFeeds: options.allowPrivateFeeds },
      version: packageJson.version,
      collector: readCollector(options.otlpEndpoint, environment),
      ports: { host: options.host, healthPort: options.healthPort, metricsPort: options.metricsPort },
      clock: realClock,
      random: Math.random,
      redactor,
      log,
      stopping,
    });
    if (outcome.state === "NotStarted") throw new CommandError(outcome.problem, outcome.hint);
    return outcome.state === "Stopped" ? 0 : 1;
  }, graceMs);
}

function readSelector(text: string): LabelSelector {
  const selector = parseSelector(text);
  if (!("unreadable" in selector)) return selector;
  throw new CommandError(
    `--selector: "${selector.unreadable}" is not a requirement on labels`,
    "Write it as for `kubectl get -l`: name=value, name!=value, name in (a,b), name or !name, separated by commas.",
  );
}
