// `wafsync operator` as a process: how it starts, what it needs, what it reports, and how it ends.
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "@jest/globals";
import { runOperator } from "../../src/app/operator.ts";
import type { OperatorOptions } from "../../src/app/operator-work.ts";
import { createStopping } from "../../src/app/stopping.ts";
import { realClock } from "../../src/async/clock.ts";
import { loadKubeConfig } from "../../src/kube/credentials.ts";
import { Redactor } from "../../src/model/redactor.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { installDefinitions, waitFor } from "../support/builders/cluster-objects.ts";
import { describeWithOwnControlPlane } from "../support/control-plane/suite.ts";
import { startOperator } from "../support/processes/operator-process.ts";

const waitMs = 60_000;

await describeWithOwnControlPlane("wafsync operator", (cluster) => {
  test("without the CRDs, it is alive and not ready, and has metrics; with them, it becomes ready by itself", async () => {
    const process = await startOperator({ kubeconfig: cluster.kubeconfig });
    await waitFor("the CRDs to be missing", waitMs, async () => {
      const { status, text } = await process.health("/readyz");
      return status === 503 && text.includes("does not know") && text.includes("wafiprules") ? true : undefined;
    });
    expect(await process.health("/healthz")).toStrictEqual({ status: 200, text: "ok\n" });
    expect(await process.metric('wafsync_watch_synced{kind="wafiprules"}')).toBe(0);
    expect(await process.metric('leader_election_master_status{name="none"}')).toBe(0);
    await installDefinitions(cluster);
    await waitFor("readiness", waitMs, async () =>
      (await process.health("/readyz")).status === 200 ? true : undefined,
    );
    await waitFor("the lead", waitMs, async () =>
      (await process.metric('leader_election_master_status{name="none"}')) === 1 ? true : undefined,
    );
    expect(await process.metric('wafsync_watch_synced{kind="wafiprules"}')).toBe(1);
    expect(await process.end("SIGTERM")).toMatchObject({ code: 0, signal: undefined });
  });

  test.each([
    ["a kubeconfig that does not exist", ["--kubeconfig", "nowhere.yaml"], /--kubeconfig/],
    ["a context that does not exist", ["--context", "elsewhere"], /--context/],
    ["no namespace for the Lease", ["--leader-elect"], /--lease-namespace/],
    ["an unreadable selector", ["--selector", "tier in a"], /"tier in a" is not a requirement on labels/],
    ["an unknown log level", ["--log-level", "loud"], /debug, info/],
    ["that there is no cluster", [], /there is no kubeconfig, and wafsync does not run in a pod/],
  ])("it reports %s in one line, and exits with 2", async (_what, parameters, hint) => {
    const isOther = parameters.length === 0 || parameters.includes("--kubeconfig");
    const own = isOther ? [] : ["--kubeconfig", cluster.kubeconfig];
    const environment = { KUBECONFIG: "", HOME: "/nonexistent", KUBERNETES_SERVICE_HOST: "" };
    const ports = ["--host", "127.0.0.1", "--health-port", "0", "--metrics-port", "0"];
    const { code, stderr } = await runWafsync(["operator", ...own, ...ports, ...parameters], { environment });
    expect(stderr).toMatch(hint);
    expect(stderr).not.toContain("    at ");
    expect(code).toBe(2);
  });

  test.each([
    ["--health-port", "--metrics-port"],
    ["--metrics-port", "--health-port"],
  ])("it reports that the port of %s is in use, and exits with 2", async (taken, free) => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const parameters = ["--host", "127.0.0.1", taken, String(port), free, "0"];
    const { code, stderr } = await runWafsync(["operator", "--kubeconfig", cluster.kubeconfig, ...parameters]);
    other.close();
    expect(stderr).toContain(`port ${port}`);
    expect(code).toBe(2);
  });

  test("an unexpected error ends it, so that it is started again", async () => {
    const options: OperatorOptions = {
      kubeConfig: loadKubeConfig({ file: cluster.kubeconfig, environment: {} }),
      namespace: undefined,
      lease: undefined,
      podName: "wafsync-0",
      baseUrls: { allowInsecureHttp: true, allowedBaseUrls: undefined, allowPrivateNetworks: true },
      feedPolicy: { allowInsecureHttp: true, allowPrivateFeeds: true },
      version: "0.1.0",
      ports: { host: "127.0.0.1", healthPort: 0, metricsPort: 0 },
      clock: realClock,
      random: () => 0.5,
      redactor: new Redactor(),
      log: createLogger({ level: "silent", redact: (text) => text }),
      stopping: createStopping(realClock),
    };
    const bug = (): never => {
      throw new Error("a bug");
    };
    Object.defineProperty(options, "logRowsMax", { get: bug });
    expect(await runOperator(options)).toStrictEqual({ state: "Failed" });
  });
});
