// A folder with files for one test, which is removed when the test ends: `await using scratch = await scratchDirectory({...})`.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface ScratchDirectory extends AsyncDisposable {
  readonly path: string;
  write(file: string, content: string | Uint8Array): Promise<void>;
  remove(file: string): Promise<void>;
}

export async function scratchDirectory(files: Readonly<Record<string, string>> = {}): Promise<ScratchDirectory> {
  const path = await mkdtemp(join(tmpdir(), "wafsync-test-"));
  const scratch: ScratchDirectory = {
    path,
    async write(file, content) {
      await mkdir(dirname(join(path, file)), { recursive: true });
      await writeFile(join(path, file), content);
    },
    async remove(file) {
      await rm(join(path, file), { recursive: true });
    },
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true });
    },
  };
  for (const [file, content] of Object.entries(files)) await scratch.write(file, content);
  return scratch;
}

export const instanceYaml = `apiVersion: wafsync.dev/v1alpha1
kind: WafInstance
metadata:
  name: main
  namespace: shop
spec:
  baseUrl: https://waf.example.com
  apiKeySecretRef:
    name: waf-key
`;

export const secretYaml = `apiVersion: v1
kind: Secret
metadata:
  name: waf-key
  namespace: shop
stringData:
  apiKey: correct-horse-battery
`;

export function ruleYaml(name: string, addresses: readonly string[], more = ""): string {
  return `apiVersion: wafsync.dev/v1alpha1
kind: WafIpRule
metadata:
  name: ${name}
  namespace: shop
spec:
  instanceRef:
    name: main
  action: Block
  addresses:
${addresses.map((address) => `    - ${address}\n`).join("")}${more}`;
}
