// The outputs of log forwarding: the operator's stdout, to which nothing else writes, or an OpenTelemetry collector.
import { write } from "node:fs";
import type { Clock } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import { Turns } from "../async/turns.ts";
import { jsonLineOf } from "../model/visible-text.ts";
import type { LogForwarding } from "../model/declared.ts";
import type { LogEntry } from "../model/log-entry.ts";
import { nameKey } from "../model/resource.ts";
import type { LogOrigin, LogOutputPort } from "./forward-ports.ts";
import type { OtlpLogs } from "./otlp-logs.ts";

const stdoutDescriptor = 1;
const stoppingProblem = "The operator is stopping.";
const noAnswerProblem = "The OpenTelemetry collector did not finish its response within 20 s.";
/** The delay before the next attempt to write to a full pipe. */
const busyPauseMs = 20;
/** How long a collector may take for one page of rows. */
export const collectorMsMax = 20_000;
/** After a failure that took longer than this, all writes fail immediately for `awayMs`, so that a slow collector occupies few workers. */
const slowFailureMs = 5_000;
const awayMs = 30_000;

export interface LogOutputsOptions {
  /** Undefined if there is no collector. */
  readonly otlpEndpoint: string | undefined;
  readonly version: string;
  readonly podName: string;
  readonly clock: Clock;
  /** Aborts a write that is still waiting. */
  readonly abandon: AbortSignal;
}

export type LogOutputs = ReturnType<typeof createLogOutputs>;

export function createLogOutputs(options: LogOutputsOptions) {
  const stdout = new StdoutLogs(options);
  const collector = new CollectorLogs(options);
  return {
    of: (output: LogForwarding["output"]): LogOutputPort => (output === "Stdout" ? stdout : collector),
    close: async () => await collector.close(),
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

class CollectorLogs implements LogOutputPort {
  readonly #options: LogOutputsOptions;
  #opened: Promise<OtlpLogs> | undefined;
  #away: { readonly untilMs: number; readonly problem: string } | undefined;

  constructor(options: LogOutputsOptions) {
    this.#options = options;
  }

  async write(origin: LogOrigin, entries: readonly LogEntry[]): Promise<string | undefined> {
    const { otlpEndpoint: endpoint, version, podName, clock, abandon } = this.#options;
    if (endpoint === undefined) {
      return "The operator has no OpenTelemetry collector: set --otlp-endpoint or OTEL_EXPORTER_OTLP_ENDPOINT.";
    }
    if (this.#away !== undefined && clock.monotonicMs() < this.#away.untilMs) return this.#away.problem;
    this.#opened ??= import("./otlp-logs.ts").then(({ createOtlpLogs }) =>
      createOtlpLogs({ endpoint, version, serviceInstance: podName }),
    );
    const logs = await this.#opened;
    const startMs = clock.monotonicMs();
    const sent = await withDeadline({ clock, timeoutMs: collectorMsMax, signal: abandon }, async () => {
      return await logs.send(origin, entries, clock.nowMs());
    });
    if (abandon.aborted) return stoppingProblem;
    if (!sent.inTime) logs.cancel();
    const problem = sent.inTime ? sent.value : noAnswerProblem;
    const nowMs = clock.monotonicMs();
    if (problem !== undefined && nowMs - startMs >= slowFailureMs) this.#away = { untilMs: nowMs + awayMs, problem };
    return problem;
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }
}
