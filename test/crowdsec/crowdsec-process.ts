// The CrowdSec local API as a process, with its own database file. Decisions are added as a machine adds them, and can be lost.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { findFreePorts } from "../support/control-plane/free-ports.ts";

export interface NewDecision {
  readonly value: string;
  readonly scope?: "Ip" | "Range";
  readonly type?: string;
  readonly scenario?: string;
  /** In seconds from now. */
  readonly seconds: number;
}

/** The server takes this many with one alert. */
const decisionsOfAlertMax = 1_000;
const machinePassword = "machine-password-0123456789";
const readyMsMax = 30_000;

export class CrowdsecProcess {
  readonly key = "bouncer-key-0123456789";
  readonly #program: string;
  readonly #directory: string;
  readonly #port: number;
  #child: ChildProcess | undefined;
  #token = "";

  private constructor(program: string, directory: string, port: number) {
    this.#program = program;
    this.#directory = directory;
    this.#port = port;
  }

  static async start(program: string): Promise<CrowdsecProcess> {
    const [port = 0] = await findFreePorts(1);
    const server = new CrowdsecProcess(program, await mkdtemp(join(tmpdir(), "wafsync-crowdsec-")), port);
    await server.start();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Resolves when it responds. The data of earlier runs is kept. */
  async start(): Promise<void> {
    const parameters = ["--database", this.#file, "--port", String(this.#port), "--bouncer-key", this.key];
    const child = spawn(this.#program, [...parameters, "--machine-password", machinePassword], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child = child;
    // Tokens are valid for only one run of the server.
    this.#token = "";
    const ready = Promise.withResolvers<void>();
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text));
    child.stdout.setEncoding("utf8").on("data", () => ready.resolve());
    child.once("error", ready.reject);
    child.once("close", () => ready.reject(new Error(`the local API ended: ${printed}`)));
    const timer = setTimeout(() => ready.reject(new Error(`the local API does not listen: ${printed}`)), readyMsMax);
    await ready.promise.finally(() => clearTimeout(timer));
  }

  /** Stops it like a machine that loses power. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async add(...decisions: readonly NewDecision[]): Promise<void> {
    for (let from = 0; from < decisions.length; from += decisionsOfAlertMax) {
      await this.#asMachine("POST", "/v1/alerts", [alertOf(decisions.slice(from, from + decisionsOfAlertMax))]);
    }
  }

  /** Ends all decisions about the value, as a person does. */
  async end(value: string): Promise<void> {
    await this.#asMachine("DELETE", `/v1/decisions?value=${encodeURIComponent(value)}`);
  }

  /** Drops the table with all decisions, as a failed migration could. */
  dropDecisions(): void {
    using database = new DatabaseSync(this.#file, { timeout: 5_000 });
    database.exec("PRAGMA foreign_keys = OFF; DROP TABLE decisions");
  }

  async #asMachine(method: string, path: string, body?: unknown): Promise<void> {
    if (this.#token === "") {
      const login = { machine_id: "machine", password: machinePassword, scenarios: [] };
      this.#token = ((await this.#call("POST", "/v1/watchers/login", login)) as { token: string }).token;
    }
    await this.#call(method, path, body, { authorization: `Bearer ${this.#token}` });
  }

  async #call(
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { "content-type": "application/json", "user-agent": "machine/1", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  get #file(): string {
    return join(this.#directory, "crowdsec.db");
  }
}

function alertOf(decisions: readonly NewDecision[]): object {
  const now = new Date().toISOString();
  const source = { scope: "Ip", value: decisions[0]?.value ?? "", ip: "192.0.2.1" };
  return {
    capacity: 1,
    leakspeed: "1s",
    events_count: 1,
    events: [],
    message: "test",
    scenario: "test/many",
    scenario_hash: "0",
    scenario_version: "1",
    simulated: false,
    source,
    start_at: now,
    stop_at: now,
    decisions: decisions.map(({ value, scope = "Ip", type = "ban", scenario = "test/many", seconds }) => ({
      value,
      scope,
      type,
      scenario,
      origin: "crowdsec",
      duration: `${seconds}s`,
    })),
  };
}
