// The outputs of log forwarding: the operator's stdout, to which nothing else writes, or an OpenTelemetry collector.
import { write } from "node:fs";
import { Turns } from "../async/turns.ts";
import { jsonLineOf } from "../model/texts.ts";
import type { LogForwarding } from "../model/declared.ts";
import type { LogEntry } from "../model/log-entry.ts";
import { nameKey } from "../model/resource.ts";
import type { LogOrigin, LogOutputPort } from "./forward-ports.ts";
import { type Collector, CollectorLogs, type CollectorOptions, stoppingProblem } from "./otlp-logs.ts";

const stdoutDescriptor = 1;
/** The delay before the next attempt to write to a full pipe. */
const busyPauseMs = 20;
const noCollector: LogOutputPort = {
  write: async () =>
    await Promise.resolve(
      "The operator has no OpenTelemetry collector: set --otlp-endpoint or OTEL_EXPORTER_OTLP_ENDPOINT.",
    ),
};

export interface LogOutputsOptions extends CollectorOptions {
  /** Undefined if there is no collector. */
  readonly collector: Collector | undefined;
}

export type LogOutputs = ReturnType<typeof createLogOutputs>;

export function createLogOutputs(options: LogOutputsOptions) {
  const stdout = new StdoutLogs(options);
  const collector = options.collector && new CollectorLogs(options.collector, options);
  return {
    of: (output: LogForwarding["output"]): LogOutputPort => (output === "Stdout" ? stdout : (collector ?? noCollector)),
    close: () => collector?.close(),
  };
}

/** One JSON object per line: instance and domain, then the entry as the API returns it. */
export function logLines({ instance, domain }: LogOrigin, entries: readonly LogEntry[]): string {
  const origin = { waf_instance: nameKey(instance), ...(domain === undefined ? {} : { domain }) };
  return entries.map((entry) => `${jsonLineOf({ ...origin, ...entry, ...origin })}\n`).join("");
}

class StdoutLogs implements LogOutputPort {
  readonly #options: LogOutputsOptions;
  /** Writes of several instances are serialized, so that lines are never interleaved. */
  readonly #turns = new Turns();

  constructor(options: LogOutputsOptions) {
    this.#options = options;
  }

  async write(origin: LogOrigin, entries: readonly LogEntry[]): Promise<string | undefined> {
    const writing = this.#turns.run(async () => await this.#writeAll(Buffer.from(logLines(origin, entries))));
    // Any failure is reported in the status of the instance to which the rows belong.
    return await writing.catch((error: unknown) => `The rows can't be written (${errorName(error)}).`);
  }

  async #writeAll(bytes: Buffer): Promise<string | undefined> {
    const { clock, abandon } = this.#options;
    let done = 0;
    while (done < bytes.length) {
      if (abandon.aborted) return stoppingProblem;
      // Not process.stdout: while a pipe is full, it would block the whole process, including the renewal of the Lease.
      const written = await writeSome(bytes.subarray(done));
      if (typeof written === "number") done += written;
      else if (written !== "EAGAIN") return `The operator's stdout can't be written (${written}).`;
      else await clock.sleep(busyPauseMs, abandon);
    }
    return undefined;
  }
}

function errorName(error: unknown): string {
  return Error.isError(error) ? error.name : "unknown error";
}

/** The number of bytes written, or the error code. */
async function writeSome(bytes: Buffer): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>();
  write(stdoutDescriptor, bytes, (error, written) => {
    resolve(error === null ? written : (error.code ?? "unknown error"));
  });
  return await promise;
}
