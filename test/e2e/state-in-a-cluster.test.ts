// The state of folders in a cluster, on a real API server with the rights that the guide lists: what fresh machines know, several folders in
// one namespace, the commands that only read, and errors.
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { describeWithOwnControlPlane } from "../support/control-plane/suite.ts";
import { type FinishedProcess, runFaster, runWafsync } from "../support/processes/wafsync-process.ts";
import { setUpClusterState } from "../support/worlds/cluster-state.ts";
import { ruleDocument, testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

await describeWithOwnControlPlane("the state of a folder in a cluster", (cluster) => {
  const namespace = "waf-state";
  let kubeconfig = "";
  let admin = "";

  /** On a machine of its own. */
  const run = async (folder: WafFolder, words: readonly string[], file = kubeconfig, state = `${namespace}/shop`) => {
    const path = join(folder.files.path, ".machines", randomUUID());
    mkdirSync(path, { recursive: true });
    const environment = { XDG_RUNTIME_DIR: path, TMPDIR: path, KUBECONFIG: file, CI_JOB_URL: "https://ci.example/7" };
    return await runWafsync([...words, ...folder.from, "--state", `kube:${state}`], { environment });
  };
  const failing = async (folder: WafFolder, file: string, state?: string): Promise<FinishedProcess> => {
    const failed = await run(folder, ["plan"], file, state);
    expect(failed).toMatchObject({ code: 2, stdout: "" });
    return failed;
  };

  test("without the CRD, a command says so and calls no WAF", async () => {
    admin = cluster.kubeconfig;
    let requests = 0;
    await using folder = await wafFolder({ onRequest: () => void (requests += 1) });
    const unknown = await failing(folder, admin);
    expect(unknown.stderr).toMatch(
      /^error: WafRecord waf-state\/shop-state can't be accessed: the API server does not know the kind WafRecord\. Install the CRDs\.\n$/,
    );
    expect(requests).toBe(0);
    kubeconfig = await setUpClusterState(cluster, namespace);
  });

  test("a fresh machine knows what earlier jobs have added, also through commands of people", async () => {
    await using folder = await wafFolder({}, "  guards: {maxRemovalPercent: 100}\n");
    await folder.files.write("rule.yaml", ruleDocument("office", { addresses: ["192.0.2.1", "192.0.2.2"] }));
    const first = await run(folder, ["plan"]);
    expect(first.stdout).toMatch(/^No record of earlier runs: if there were any, set --state\./);
    expect(await run(folder, ["apply"])).toMatchObject({ code: 0 });
    await folder.files.write("rule.yaml", ruleDocument("office", { addresses: ["192.0.2.1"] }));
    const changed = await run(folder, ["plan"]);
    expect(changed.stdout).toContain("0 to add, 1 to remove");
    expect(changed.stdout).not.toContain("No record");
    expect(await run(folder, ["apply"])).toMatchObject({ code: 0 });
    expect(folder.simulator.waf(testKey).blocklist).toStrictEqual(["192.0.2.1"]);
    expect((await run(folder, ["block", "198.51.100.9"])).code).toBe(0);
    expect((await run(folder, ["history"])).stdout).toMatch(/Removed +blocklist +192\.0\.2\.2/);
    expect((await run(folder, ["why", "192.0.2.1"])).stdout).toContain("managed since");
    // Another folder has a state of its own in the same namespace.
    const other = await run(folder, ["plan"], kubeconfig, `${namespace}/other`);
    expect(other.stdout).toMatch(/^No record of earlier runs/);
    const objects = await cluster.expectKubectl(["get", "wafrecords", "-n", namespace, "-o", "json"]);
    expect(objects).not.toContain(testKey);
    expect(objects).not.toContain("wafsync.dev/instance");
    expect(objects).toMatch(/"text": "{\\"format\\":1}\\nhistory\/shop\/main\.txt\\n # history shop\/main: /);
  });

  test("commands that only show what is stored need get and list", async () => {
    await using folder = await wafFolder();
    await folder.files.write("rule.yaml", ruleDocument("office", { addresses: ["192.0.2.1"] }));
    expect((await run(folder, ["apply"], kubeconfig, `${namespace}/read`)).code).toBe(0);
    await cluster.expectKubectl(["create", "serviceaccount", "reader", "-n", namespace]);
    const rights = ["--verb=get,list", "--resource=wafrecords.wafsync.dev", "-n", namespace];
    await cluster.expectKubectl(["create", "role", "reader", ...rights]);
    const subject = `--serviceaccount=${namespace}:reader`;
    await cluster.expectKubectl(["create", "rolebinding", "reader", "--role=reader", subject, "-n", namespace]);
    const reader = await cluster.kubeconfigFor(namespace, "reader");
    expect((await run(folder, ["status"], reader, `${namespace}/read`)).stdout).toMatch(/True +Synced +1 /);
    expect((await run(folder, ["history"], reader, `${namespace}/read`)).stdout).toContain("192.0.2.1");
    const refused = await failing(folder, reader, `${namespace}/read`);
    expect(refused.stderr).toMatch(
      /cannot update resource .* Check that namespace waf-state exists, and that this user may/,
    );
  });

  test("what is missing is said, and what to do about it", async () => {
    await using folder = await wafFolder();
    const missing = await failing(folder, admin, "waf-stat/shop");
    expect(missing.stderr).toMatch(
      /WafRecord waf-stat\/shop-state could not be written: namespaces "waf-stat" not found\. Check that namespace waf-stat exists/,
    );
    const forbidden = await failing(folder, kubeconfig, "default/shop");
    expect(forbidden.stderr).toMatch(
      /cannot list resource "wafrecords" .* Check that namespace default exists, and that this user may get, list,/,
    );
    const nowhere = join(folder.files.path, ".nowhere");
    const cluster0 = { name: "a", cluster: { server: "https://127.0.0.1:1" } };
    await folder.files.write(
      ".nowhere",
      JSON.stringify({
        clusters: [cluster0],
        contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
        "current-context": "a",
        users: [],
      }),
    );
    const unreachable = await failing(folder, nowhere);
    expect(unreachable.stderr).toMatch(
      /WafRecord waf-state\/shop-state can't be accessed: ECONNREFUSED.* Check the connection to the API server\.\n$/,
    );
    for (const state of ["shop", "waf-state/", "Waf_State/shop", "a/b/c"]) {
      expect((await failing(folder, kubeconfig, state)).stderr).toContain(
        `--state kube:${state} names no state in a cluster\n  Write kube:NAMESPACE/NAME, for example kube:waf-state/shop.`,
      );
    }
    const context = await run(folder, ["plan", "--context", "elsewhere"]);
    expect(context.stderr).toContain('cannot reach the cluster: The kubeconfig has no context named "elsewhere"');
    const local = await folder.run("plan", "--context", "elsewhere");
    expect(local.stderr).toContain("--context is for a cluster, but -f is for a folder");
  });
});
