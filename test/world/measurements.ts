// What the image takes on a node: read from the kernel, printed, and written into docs/contributing/world.md with
// WAFSYNC_WRITE_DOCS=1.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { runToEnd } from "../support/control-plane/run-to-end.ts";
import { processesWith } from "./steps.ts";

const page = join(import.meta.dirname, "..", "..", "docs", "contributing", "world.md");
const stepMs = 180_000;
const pollMs = 20;
/** Of every architecture that Linux runs Node.js on. */
const ticksPerSecond = 100;

/** A line of the list on the page, up to its colon. */
export type Measurement =
  | "The image"
  | "Start of the operator"
  | "Memory of the idle operator"
  | "Memory with 20,000 entries";

export async function recordMeasurement(name: Measurement, value: string): Promise<void> {
  process.stderr.write(`wafsync: ${name}: ${value}\n`);
  if (process.env["WAFSYNC_WRITE_DOCS"] !== "1") return;
  const text = await readFile(page, "utf8");
  await writeFile(page, text.replace(new RegExp(`^- ${name}: .*$`, "m"), `- ${name}: ${value}`));
}

/** The operator's processes in a pod, by the cgroups that kubelet names after pods. */
export async function processesOfPod(podUid: string): Promise<number[]> {
  const ids = await processesWith("/wafsync/wafsync.mjs operator");
  const groups = await Promise.all(
    ids.map(async (id) => [id, await readFile(`/proc/${id}/cgroup`, "utf8").catch(() => "")] as const),
  );
  return groups.filter(([, group]) => group.includes(podUid)).map(([id]) => id);
}

/** What the kernel reports of a process, by the names in /proc. */
export async function kernelStatus(id: number): Promise<Record<string, string>> {
  const lines = (await readFile(`/proc/${id}/status`, "utf8")).split("\n");
  return Object.fromEntries(lines.map((line) => line.split(":\t") as [string, string]));
}

export async function memoryOf(id: number): Promise<{ readonly nowMiB: number; readonly peakMiB: number }> {
  const status = await kernelStatus(id);
  const mebibytes = (name: string): number => Math.round(Number.parseInt(status[name] ?? "", 10) / 1024);
  return { nowMiB: mebibytes("VmRSS"), peakMiB: mebibytes("VmHWM") };
}

/** Resolves when the operator process is ready; gives the time from its first instruction to the first good answer. */
export async function secondsToReady(podUid: string): Promise<number> {
  const id = await waitFor("the process of the pod", stepMs, async () => (await processesOfPod(podUid))[0]);
  const address = await addressOf(id);
  for (;;) {
    const response = await fetch(`http://${address}:8081/readyz`).catch(() => undefined);
    const now = Number((await readFile("/proc/uptime", "utf8")).split(" ")[0]);
    if (response?.ok === true) return now - (await startedAt(id));
    await sleep(pollMs);
  }
}

/** The pod's status names the address only later. */
async function addressOf(id: number): Promise<string> {
  const show = ["ip", "-4", "-oneline", "address", "show", "dev", "eth0"];
  const shown = await runToEnd("nsenter", ["--target", String(id), "--net", ...show], { environment: process.env });
  const address = /inet ([\d.]+)/.exec(shown.stdout)?.[1];
  if (address === undefined) throw new Error(`the pod has no address: ${shown.stderr}`);
  return address;
}

/** In seconds since the machine started. */
async function startedAt(id: number): Promise<number> {
  const stat = await readFile(`/proc/${id}/stat`, "utf8");
  // The name of the program is in parentheses and may have spaces; the start is field 22.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[19]) / ticksPerSecond;
}
