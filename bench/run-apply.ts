// Runs `wafsync apply` on a folder with one rule that has many addresses.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundle } from "./server-process.ts";

const run = promisify(execFile);

export interface Folder extends AsyncDisposable {
  /** Runs the whole program and returns the milliseconds. The state directory is kept. */
  runOnceMs(): Promise<number>;
  /** Deletes the records of earlier runs. */
  forget(): Promise<void>;
}

function documents(baseUrl: string, key: string, addresses: readonly string[]): string {
  const common = "apiVersion: wafsync.dev/v1alpha1\nkind: ";
  const list = addresses.map((address) => `    ${address}\n`);
  return [
    `${common}WafInstance\nmetadata: {name: bench}\nspec:\n  baseUrl: ${baseUrl}\n  apiKeySecretRef: {name: bench}\n`,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: bench}\nstringData: {apiKey: ${key}}\n`,
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bench}\ndata:\n  list: |\n${list.join("")}`,
    `${common}WafIpRule\nmetadata: {name: bench}\nspec:\n  instanceRef: {name: bench}\n  action: Block\n  addressesFrom: [{configMapKeyRef: {name: bench, key: list}}]\n`,
  ].join("---\n");
}

export async function benchFolder(baseUrl: string, key: string, addresses: readonly string[]): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "wafsync-bench-"));
  await writeFile(join(path, "all.yaml"), documents(baseUrl, key, addresses));
  const remove = async (folder: string): Promise<void> => await rm(folder, { recursive: true, force: true });
  return {
    runOnceMs: async () => {
      const startMs = performance.now();
      await run(process.execPath, [bundle, "apply", "--from", path, "--allow-insecure-http"]);
      return performance.now() - startMs;
    },
    forget: async () => await remove(join(path, ".wafsync")),
    [Symbol.asyncDispose]: async () => await remove(path),
  };
}
