import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "../support/worlds/scratch-directory.ts";

const { version } = JSON.parse(await readFile(join(import.meta.dirname, "../../package.json"), "utf8")) as {
  version: string;
};

/** test/build.test.ts tests the commit of the bundle. */
const sources = join(import.meta.dirname, "../../src/cli/main.ts");

function kubeconfig(server: string): string {
  return `apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "${server}", insecure-skip-tls-verify: true}}]
users: [{name: nobody, user: {}}]
contexts: [{name: here, context: {cluster: here, user: nobody}}]
current-context: here
`;
}

describe("wafsync version", () => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    response.setHeader("content-type", "application/json").end(JSON.stringify({ gitVersion: "v1.36.2" }));
  });
  let scratch: ScratchDirectory;
  const run = async (parameters: readonly string[], environment: Record<string, string> = {}) =>
    await runWafsync(["version", ...parameters], {
      program: sources,
      environment: { HOME: scratch.path, ...environment },
    });

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    scratch = await scratchDirectory({ "gone.yaml": kubeconfig("http://127.0.0.1:9") });
    await scratch.write("config.yaml", kubeconfig(`http://127.0.0.1:${port}`));
  });

  afterAll(async () => {
    server.close();
    await scratch[Symbol.asyncDispose]();
  });

  test("prints the versions of wafsync and Node.js and the commit, and contacts no server without a kubeconfig", async () => {
    const { code, stdout, stderr } = await run([]);
    expect({ code, stderr }).toStrictEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(`wafsync      ${version}
Commit       unknown: running from source
Node.js      ${process.versions.node} (${process.platform}-${process.arch})
`);
    expect(paths).toStrictEqual([]);
  });

  test("adds the version of the API server that the kubeconfig names", async () => {
    const { stdout } = await run(["--kubeconfig", join(scratch.path, "config.yaml")]);
    expect(stdout).toMatch(/^API server {3}v1\.36\.2$/mu);
    expect(paths).toStrictEqual(["/version"]);
    const found = await run(["-o", "json"], { KUBECONFIG: join(scratch.path, "config.yaml") });
    expect(JSON.parse(found.stdout)).toStrictEqual({
      version,
      commit: null,
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
      apiServer: { version: "v1.36.2" },
    });
  });

  test("does not contact the server with --client", async () => {
    const { stdout } = await run(["--client"], { KUBECONFIG: join(scratch.path, "config.yaml") });
    expect(stdout).not.toContain("API server");
  });

  test("warns if the server does not respond, and fails only if the options select the cluster", async () => {
    const gone = join(scratch.path, "gone.yaml");
    const unnamed = await run([], { KUBECONFIG: gone });
    expect(unnamed).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: the API server does not respond: /u),
    });
    expect(unnamed.stdout).toMatch(/^API server {3}does not respond$/mu);
    const named = await run(["--kubeconfig", gone]);
    expect(named).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: the API server does not respond: /u),
    });
    expect(named.stdout).toContain(`wafsync      ${version}`);
    const missing = await run(["--kubeconfig", join(scratch.path, "missing.yaml")]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot reach the cluster") });
    expect(missing.stdout).toContain(`wafsync      ${version}`);
  });
});
