// A folder of resources for one test, and a simulator that they refer to.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../src/simulator/start-simulator.ts";
import { everythingPrinted, type FinishedProcess, runWafsync } from "../processes/wafsync-process.ts";
import { type ScratchDirectory, scratchDirectory } from "./scratch-directory.ts";

/** Contains every character that must be encoded in a query, a form, a path, JSON or YAML. */
export const testKey = `k3y+of/the=e2e%20&suites"é`;
export const testDomain = "www.shop.example";

interface InstanceFields {
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Further lines of `spec`, indented by two. */
  readonly spec?: string;
}

export function instanceDocument(baseUrl: string, fields: InstanceFields = {}): string {
  const { name = "main", annotations = {}, spec = "" } = fields;
  return `---
apiVersion: wafsync.dev/v1alpha1
kind: WafInstance
metadata: {name: ${name}, namespace: shop, annotations: ${JSON.stringify(annotations)}}
spec:
  baseUrl: ${baseUrl}
  apiKeySecretRef: {name: waf-key}
${spec}`;
}

export function secretDocument(key = testKey): string {
  return `---
apiVersion: v1
kind: Secret
metadata: {name: waf-key, namespace: shop}
stringData:
  apiKey: ${JSON.stringify(key)}
`;
}

interface RuleFields {
  readonly action?: "Block" | "Allow";
  readonly addresses?: readonly string[];
  /** The ConfigMap with further addresses in the key `list`. */
  readonly configMap?: string;
  /** Further lines of `spec`, indented by two. */
  readonly spec?: string;
}

export function ruleDocument(name: string, fields: RuleFields): string {
  const { action = "Block", addresses = [], configMap, spec = "" } = fields;
  return `---
apiVersion: wafsync.dev/v1alpha1
kind: WafIpRule
metadata: {name: ${name}, namespace: shop}
spec:
  instanceRef: {name: main}
  action: ${action}
  addresses: ${JSON.stringify(addresses)}
${configMap === undefined ? "" : `  addressesFrom: [{configMapKeyRef: {name: ${configMap}, key: list}}]\n`}${spec}`;
}

export function originDocument(name: string, host: string, type: "Alternate" | "Backup" = "Alternate"): string {
  return `---
apiVersion: wafsync.dev/v1alpha1
kind: WafOrigin
metadata: {name: ${name}, namespace: shop}
spec: {instanceRef: {name: main}, host: ${host}, type: ${type}}
`;
}

export function cacheClearDocument(name: string, trigger: string): string {
  return `---
apiVersion: wafsync.dev/v1alpha1
kind: WafCacheClear
metadata: {name: ${name}, namespace: shop}
spec:
  instanceRef: {name: main}
  trigger: ${trigger}
`;
}

export function configMapDocument(name: string, lines: readonly string[]): string {
  return `---
apiVersion: v1
kind: ConfigMap
metadata: {name: ${name}, namespace: shop}
data:
  list: |
${lines.map((line) => `    ${line}\n`).join("")}`;
}

export interface WafFolder extends AsyncDisposable {
  readonly simulator: Simulator;
  readonly files: ScratchDirectory;
  readonly path: string;
  /** `-f`, the folder, and the options that allow calls to the simulator. */
  readonly from: readonly string[];
  /** All files in the folder, including the state, as one text. */
  everyFile(): Promise<string>;
  /** Runs a command on the folder: its words, and further parameters as they are. */
  run(command: string, ...more: readonly string[]): Promise<FinishedProcess>;
  /** The report of a command about `Kind/namespace/name`. */
  statusOf(object: string): Promise<Readonly<Record<string, unknown>>>;
}

/**
 * A simulator, and a folder with an instance and its Secret. When it is closed, it checks that no command of the suite has printed the
 * key, that no file of the state contains it, and that the simulator met no error of its own.
 */
export async function wafFolder(options: Partial<SimulatorOptions> = {}, instanceSpec = ""): Promise<WafFolder> {
  const simulator = await startSimulator({ keys: [{ key: testKey, domain: testDomain }], ...options });
  const files = await scratchDirectory({
    "main.yaml": instanceDocument(simulator.baseUrl, { spec: instanceSpec }),
    "secret.yaml": secretDocument(),
  });
  const from = ["-f", files.path, "--allow-insecure-http"];
  return {
    simulator,
    files,
    path: files.path,
    from,
    run: async (command, ...more) => await runWafsync([...command.split(" "), ...from, ...more]),
    everyFile: async () => await textOfFolder(files.path),
    statusOf: async (object) => {
      const text = await readFile(join(files.path, `.wafsync/status/${object}.yaml`), "utf8");
      return (parse(text) as { status: Readonly<Record<string, unknown>> }).status;
    },
    async [Symbol.asyncDispose]() {
      const told = `${everythingPrinted()}${await textOfFolder(join(files.path, ".wafsync"))}`;
      await simulator.close();
      await files[Symbol.asyncDispose]();
      if (keySpellings().some((spelling) => told.includes(spelling))) {
        throw new Error("A command printed the API key, or wrote it into its state directory");
      }
      if (simulator.internalErrors.length > 0) throw new Error(simulator.internalErrors.join("\n"));
    },
  };
}

async function textOfFolder(path: string): Promise<string> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && entry.name !== "secret.yaml");
  const texts = files.map(async ({ parentPath, name }) => `${name}\n${await readFile(join(parentPath, name), "utf8")}`);
  return (await Promise.all(texts)).join("\n");
}

/** Every encoding in which a key could appear in a text. */
export function keySpellings(key = testKey): readonly string[] {
  const form = new URLSearchParams({ key }).toString().slice("key=".length);
  const base64 = Buffer.from(key).toString("base64");
  return [key, encodeURIComponent(key), form, JSON.stringify(key).slice(1, -1), base64];
}
