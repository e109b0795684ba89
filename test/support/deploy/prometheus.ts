// A real Prometheus that reads the metrics of one address every second, with the alert rules loaded.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "../builders/cluster-objects.ts";
import { findFreePorts } from "../control-plane/free-ports.ts";

export interface RunningPrometheus {
  /** The `data` of an API response; rejects with the error message if the request fails. */
  api(path: string): Promise<unknown>;
  /** The current values of a query. */
  query(expression: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]>;
  end(): Promise<void>;
}

const readyMs = 60_000;

export async function startPrometheus(
  file: string,
  target: string,
  ruleFiles: readonly string[],
): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-prometheus-"));
  const [port = 0] = await findFreePorts(1);
  const settings = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ruleFiles,
    scrape_configs: [{ job_name: "wafsync", static_configs: [{ targets: [target] }] }],
  };
  const settingsFile = join(folder, "prometheus.yml");
  await writeFile(settingsFile, JSON.stringify(settings));
  const flags = [
    `--config.file=${settingsFile}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
    "--log.level=error",
  ];
  const child = spawn(file, flags, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const base = `http://127.0.0.1:${port}`;
  await waitFor("Prometheus", readyMs, async () => {
    const ready = await fetch(`${base}/-/ready`).catch(() => undefined);
    return ready?.ok === true ? true : undefined;
  }).catch(async (error: unknown) => {
    await end();
    throw new Error(`${String(error)}: ${said}`);
  });
  const api = async (path: string): Promise<unknown> => {
    const answer = (await (await fetch(`${base}/api/v1/${path}`)).json()) as { data?: unknown; error?: string };
    if (answer.error !== undefined) throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  return {
    api,
    async query(expression) {
      const data = (await api(`query?query=${encodeURIComponent(expression)}`)) as { result: [] };
      return data.result;
    },
    end,
  };
}
