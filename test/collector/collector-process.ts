// An OpenTelemetry Collector as a process: it receives OTLP over HTTP, and writes the received data to a file.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePorts } from "../support/control-plane/free-ports.ts";

export interface ReceivedLog {
  readonly timeUnixNano: string;
  readonly severityText: string;
  readonly eventName: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

export class CollectorProcess {
  readonly port: number;
  readonly #program: string;
  readonly #directory: string;
  #end: (() => Promise<void>) | undefined;

  private constructor(program: string, directory: string, port: number) {
    this.#program = program;
    this.#directory = directory;
    this.port = port;
  }

  /** Started by `start`. */
  static async prepare(program: string): Promise<CollectorProcess> {
    const [port = 0] = await findFreePorts(1);
    return new CollectorProcess(program, await mkdtemp(join(tmpdir(), "wafsync-collector-")), port);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when it is ready to receive. The data of earlier runs is kept. */
  async start(): Promise<void> {
    const configuration = {
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${this.port}` } } } },
      exporters: { file: { path: this.#file, append: true, flush_interval: "100ms" } },
      service: {
        telemetry: { metrics: { level: "none" } },
        pipelines: { logs: { receivers: ["otlp"], exporters: ["file"] } },
      },
    };
    // JSON is YAML.
    const parameters = ["--config", `yaml:${JSON.stringify(configuration)}`];
    const child = spawn(this.#program, parameters, { stdio: ["pipe", "ignore", "pipe"] });
    const ended = new Promise<void>((resolve) => void child.once("close", () => resolve()));
    this.#end = async () => {
      child.kill("SIGTERM");
      await ended;
    };
    const ready = Promise.withResolvers<void>();
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (printed.includes("Everything is ready")) ready.resolve();
    });
    child.once("error", ready.reject);
    void ended.then(() => ready.reject(new Error(`the collector ended: ${printed}`)));
    await ready.promise;
  }

  /** Stops it like a machine that shuts down: accepted data is written. */
  async stop(): Promise<void> {
    await this.#end?.();
    this.#end = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Everything that was received so far, oldest first. */
  async received(): Promise<readonly ReceivedLog[]> {
    const text = await readFile(this.#file, "utf8").catch(() => "");
    // The last line may be incomplete.
    return text.split("\n").slice(0, -1).flatMap(logsOfLine);
  }

  get #file(): string {
    return join(this.#directory, "logs.jsonl");
  }
}

interface AnyValue {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
}
type KeyValues = readonly { readonly key: string; readonly value: AnyValue }[];

interface LogRecord {
  readonly timeUnixNano: string;
  readonly severityText: string;
  readonly eventName?: string;
  readonly body: AnyValue;
  readonly attributes: KeyValues;
}
interface Line {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: KeyValues };
    readonly scopeLogs: readonly { readonly logRecords: readonly LogRecord[] }[];
  }[];
}

function logsOfLine(line: string): ReceivedLog[] {
  return (JSON.parse(line) as Line).resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map(({ attributes, body, eventName = "", timeUnixNano, severityText }) => ({
        timeUnixNano,
        severityText,
        eventName,
        body: String(plain(body)),
        attributes: plainAll(attributes),
        resource: plainAll(resource.attributes),
      })),
    ),
  );
}

function plainAll(attributes: KeyValues): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));
}

function plain({ stringValue, intValue, boolValue, arrayValue }: AnyValue): unknown {
  if (arrayValue !== undefined) return arrayValue.values.map(plain);
  return stringValue ?? boolValue ?? (intValue === undefined ? undefined : Number(intValue));
}
