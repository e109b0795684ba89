// Runs the bundled operator as its image does, and measures its memory and start. The process cannot write to its home folder, as
// in a container with a read-only root. It does not use a Lease, which it would lose on a busy machine.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePorts } from "../control-plane/free-ports.ts";
import { builtHere } from "./fleet.ts";

const root = join(import.meta.dirname, "../../..");
const readyMsMax = 120_000;
const pollMs = 3;
const outputMax = 64 * 1024;

export interface Memory {
  /** Resident, in bytes. */
  readonly now: number;
  /** The peak of the resident memory. */
  readonly peak: number;
  /** The part of `now` for heaps and stacks, without the program and its libraries, which processes share. */
  readonly anonymous: number;
}

export interface MeasuredOperator extends AsyncDisposable {
  readonly pid: number;
  /** From the start of the process until /readyz succeeded. */
  readonly readyMs: number;
  /** Rejects if the process has ended. */
  memory(): Promise<Memory>;
  metric(name: string): Promise<number>;
}

export interface MeasuredStart {
  readonly kubeconfig: string;
  readonly program?: string;
}

interface Image {
  /** Parameters of Node.js. In a container, Node.js limits its heap to half of the memory; the manifests allow 512 MiB. */
  readonly nodeParameters: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The image that the Dockerfile describes, with the settings of the manifests. */
export async function readImage(): Promise<Image> {
  const dockerfile = await readFile(join(root, "deploy/Dockerfile"), "utf8");
  const entryPoint = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1];
  if (entryPoint === undefined) throw new Error("deploy/Dockerfile has no ENTRYPOINT");
  const variables = [...dockerfile.matchAll(/^ENV (\w+)=(\S+)$/gm)].map(([, name = "", value = ""]) => [name, value]);
  return {
    nodeParameters: [...(JSON.parse(entryPoint) as string[]).slice(1, -1), "--max-old-space-size=256"],
    environment: Object.fromEntries(variables) as Record<string, string>,
  };
}

export async function startMeasured(start: MeasuredStart): Promise<MeasuredOperator> {
  const { kubeconfig, program = builtHere } = start;
  const [healthPort = 0, metricsPort = 0] = await findFreePorts(2);
  const own = ["--kubeconfig", kubeconfig, "--allow-insecure-http", "--allow-private-networks"];
  const ports = ["--host", "127.0.0.1", "--health-port", `${healthPort}`, "--metrics-port", `${metricsPort}`];
  const image = await readImage();
  const startedMs = performance.now();
  const child = spawn(process.execPath, [...image.nodeParameters, program, "operator", ...own, ...ports], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", ...image.environment },
  });
  let printed = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed = (printed + text).slice(-outputMax)));
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const end = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  while (!(await isReady(healthPort))) {
    if (child.exitCode !== null || performance.now() - startedMs > readyMsMax) {
      child.kill("SIGKILL");
      throw new Error(`the operator did not become ready: ${printed}`);
    }
    await sleep(pollMs);
  }
  const readyMs = performance.now() - startedMs;
  const pid = child.pid ?? 0;
  return {
    pid,
    readyMs,
    memory: async () => await memoryOf(pid),
    metric: async (name) => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    },
    [Symbol.asyncDispose]: end,
  };
}

/** Uses a bare socket, because an HTTP client would affect the measurement. */
async function isReady(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("GET /readyz HTTP/1.0\r\n\r\n"));
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => (text += part));
    socket.on("error", () => resolve(false)).on("close", () => resolve(/^HTTP\/1\.\d 200/.test(text)));
  });
}

async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
  return { now: bytes("VmRSS"), peak: bytes("VmHWM"), anonymous: bytes("RssAnon") };
}
