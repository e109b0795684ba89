// `npm run demo:cluster` as a process: it comes up, kubectl finds everything ready, and Ctrl-C leaves nothing behind.
// Long: `npm run test:deploy` runs it.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";
import { slow } from "../support/processes/slowness.ts";

const script = join(import.meta.dirname, "../../scripts/demo-cluster.ts");

// The control plane is not used: it is there if the demo can have one of its own.
await describeWithControlPlane("the demo on a cluster", (cluster) => {
  let stop: () => void = () => undefined;
  // Also if it fails: the demo would otherwise run forever.
  afterEach(() => stop());

  test("it becomes ready, works on what kubectl declares, and is gone after Ctrl-C", async () => {
    const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "pipe"] });
    stop = () => child.kill("SIGINT");
    let text = "";
    const ready = Promise.withResolvers<void>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        if (text.includes("Press Ctrl-C to stop")) ready.resolve();
      });
    }
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    void ended.then(() => ready.reject(new Error(`it ended too early:\n${text}`)));
    await ready.promise;
    const kubeconfig = /export KUBECONFIG=(\S+)/.exec(text)?.[1] ?? "";
    const wait = ["wait", "--for=condition=Ready", `--timeout=${slow(60)}s`, "wafiprules", "--all", "-n", "shop"];
    expect(await cluster.expectKubectl(wait, { kubeconfig })).toContain("scanners condition met");
    expect(text).toContain("every object is Ready");
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    expect(text).toContain("outcome=Stopped");
    expect(text).toContain("Everything was removed.");
    expect(existsSync(dirname(kubeconfig))).toBe(false);
    const url = /the API server is at (\S+)/.exec(text)?.[1] ?? "";
    await expect(fetch(`${url}/readyz`)).rejects.toThrow("fetch failed");
  });
});
