// `wafsync operator` as a process: how it starts, what it needs, what it reports, and how it ends.
import { type AddressInfo, createServer } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { runOperator } from "../../src/app/operator.ts";
import type { OperatorOptions } from "../../src/app/operator-work.ts";
import { createStopping } from "../../src/app/stopping.ts";
import { realClock } from "../../src/async/clock.ts";
import { loadKubeConfig } from "../../src/kube/credentials.ts";
import { Redactor } from "../../src/model/redactor.ts";
import { silentLogger } from "../../src/telemetry/log.ts";
import { type Simulator, startSimulator } from "../../src/simulator/start-simulator.ts";
import { everythingPrinted, runWafsync } from "../support/processes/wafsync-process.ts";
import { createAll, deleteManifest } from "../support/fakes/api-clients.ts";
import { createNamespace, installDefinitions, waitFor } from "../support/builders/cluster-objects.ts";
import { describeWithOwnControlPlane } from "../support/control-plane/suite.ts";
import { addresses, collectionOf, instance, keySecret, type Manifest, rule } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { type OperatorProcess, type OperatorStart, startOperator } from "../support/processes/operator-process.ts";

const key = "made-up-key-0123456789";
const waitMs = 60_000;

interface Stored {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

await describeWithOwnControlPlane("wafsync operator", (cluster) => {
  let simulator: Simulator;
  let operator: OperatorProcess | undefined;

  beforeAll(async () => {
    simulator = await startSimulator({ keys: [{ key, domain: "shop.example" }] });
  });
  afterEach(async () => {
    await operator?.end("SIGKILL");
    operator = undefined;
  });
  afterAll(async () => await simulator.close());

  async function start(options: Partial<OperatorStart> = {}): Promise<OperatorProcess> {
    operator = await startOperator({ kubeconfig: cluster.kubeconfig, ...options });
    return operator;
  }

  async function read(manifest: Manifest): Promise<Stored | undefined> {
    const { status, body } = await cluster.request({ path: `${collectionOf(manifest)}/${manifest.metadata.name}` });
    return status === 200 ? (body as Stored) : undefined;
  }

  async function hasReason(manifest: Manifest, type: string, reason: string): Promise<void> {
    await waitFor(`${manifest.metadata.name}: ${type} ${reason}`, waitMs, async () => {
      const condition = (await read(manifest))?.status?.conditions?.find((each) => each.type === type);
      return condition?.reason === reason ? true : undefined;
    });
  }

  async function isReady(process: OperatorProcess): Promise<void> {
    await waitFor("readiness", waitMs, async () =>
      (await process.health("/readyz")).status === 200 ? true : undefined,
    );
  }

  test("without the CRDs, it is alive and not ready, and has metrics; with them, it becomes ready by itself", async () => {
    const process = await start();
    await waitFor("the CRDs to be missing", waitMs, async () => {
      const { status, text } = await process.health("/readyz");
      return status === 503 && text.includes("does not know") && text.includes("wafiprules") ? true : undefined;
    });
    expect(await process.health("/healthz")).toStrictEqual({ status: 200, text: "ok\n" });
    expect(await process.metric('wafsync_watch_synced{kind="wafiprules"}')).toBe(0);
    expect(await process.metric('leader_election_master_status{name="none"}')).toBe(0);
    await installDefinitions(cluster);
    await isReady(process);
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
  ])("it reports %s in one line, and exits with 2", async (_what, parameters, hint) => {
    const own = parameters.includes("--kubeconfig") ? [] : ["--kubeconfig", cluster.kubeconfig];
    const ports = ["--host", "127.0.0.1", "--health-port", "0", "--metrics-port", "0"];
    const { code, stderr } = await runWafsync(["operator", ...own, ...ports, ...parameters]);
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

  test("it reports that there is no cluster, and exits with 2", async () => {
    const environment = { KUBECONFIG: "", HOME: "/nonexistent", KUBERNETES_SERVICE_HOST: "" };
    const { code, stderr } = await runWafsync(["operator"], { environment });
    expect([code, stderr]).toStrictEqual([
      2,
      expect.stringContaining("there is no kubeconfig, and wafsync does not run in a pod"),
    ]);
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
      log: silentLogger,
      stopping: createStopping(realClock),
    };
    const bug = (): never => {
      throw new Error("a bug");
    };
    Object.defineProperty(options, "feedPolicy", { get: bug, enumerable: false });
    expect(await runOperator(options)).toStrictEqual({ state: "Failed" });
  });

  test("on SIGTERM, the call in flight is completed and recorded, and no other call starts", async () => {
    const namespace = await createNamespace(cluster, "stop");
    const [view] = simulator.wafs();
    await createAll(
      cluster,
      keySecret(namespace, key),
      instance(namespace, simulator.baseUrl, { deletionPolicy: "Delete" }),
    );
    const process = await start();
    await hasReason(instance(namespace, simulator.baseUrl), "Ready", "Synced");
    simulator.settings.latencyMs = slow(1_000);
    await createAll(cluster, rule(namespace, "list", addresses(50)));
    await waitFor("the first address", waitMs, async () => (view?.blocklist.length === 1 ? true : undefined));
    const before = view?.counters.byEndpoint["POST /api/blocklist_ip"] ?? 0;
    expect(await process.end("SIGTERM")).toMatchObject({ code: 0, signal: undefined });
    const counted = view?.counters.byEndpoint["POST /api/blocklist_ip"] ?? 0;
    expect(counted - before).toBeLessThanOrEqual(1);
    expect(view?.blocklist).toHaveLength(counted);
    simulator.settings.latencyMs = 0;
    await start();
    await waitFor("the rest", waitMs, async () => (view?.blocklist.length === 50 ? true : undefined));
    // Each address was posted once, regardless of the process.
    expect(view?.counters.byEndpoint["POST /api/blocklist_ip"]).toBe(50);
    // An instance is released after two reads of an empty list. As long as it exists, it has precedence for the key.
    const declared = instance(namespace, simulator.baseUrl);
    await deleteManifest(cluster, declared);
    await waitFor("its end", waitMs, async () => ((await read(declared)) === undefined ? true : undefined));
    expect(view?.blocklist).toStrictEqual([]);
  });

  test("the key is in no output", () => {
    expect(everythingPrinted()).toContain("leading");
    expect(everythingPrinted()).not.toContain(key);
  });
});
