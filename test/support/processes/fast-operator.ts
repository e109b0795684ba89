// The operator with an accelerated clock, for tests of processes that take minutes:
// `fast-operator.ts KUBECONFIG TIMES_AS_FAST [LEASE [POD_NAME]]`. A header of each call to a WAF names the pod.
import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import { createStopping } from "../../../src/app/stopping.ts";
import { runOperator } from "../../../src/app/operator.ts";
import { loadKubeConfig } from "../../../src/kube/credentials.ts";
import { Redactor } from "../../../src/model/redactor.ts";
import { createLogger } from "../../../src/telemetry/log.ts";
import { fastClock } from "./fast-clock.ts";

const [file = "", timesAsFast = "1", lease, podName = "wafsync-fast"] = process.argv.slice(2);
subscribe("http.client.request.created", (message) => {
  const { request } = message as { readonly request: ClientRequest };
  request.setHeader("x-pod", podName);
});
const clock = fastClock(Number(timesAsFast));
const redactor = new Redactor();
const stopping = createStopping(clock);
process.on("SIGTERM", () => stopping.begin("SIGTERM"));

const { state } = await runOperator({
  kubeConfig: loadKubeConfig({ file, environment: {} }),
  namespace: undefined,
  lease: lease === undefined ? undefined : { namespace: "wafsync-system", name: lease },
  podName,
  baseUrls: { allowInsecureHttp: true, allowedBaseUrls: undefined, allowPrivateNetworks: true },
  feedPolicy: { allowInsecureHttp: true, allowPrivateFeeds: true },
  version: "0.0.0",
  ports: { host: "127.0.0.1", healthPort: 0, metricsPort: 0 },
  clock,
  random: Math.random,
  redactor,
  log: createLogger({ level: "debug", redact: (text) => redactor.redact(text) }),
  stopping,
});
process.exit(state === "LeaseLost" ? 1 : 0);
