// Sends blocked requests as OpenTelemetry log records by OTLP over HTTP, with the official SDK. Attributes have the names of the
// semantic conventions, if these define one. Importing this file loads the SDK: import it only when it is needed.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import { type Attributes, type LogRecord, SeverityNumber } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { LoggerProvider, type ReadableLogRecord } from "@opentelemetry/sdk-logs";
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import { nameKey } from "../model/resource.ts";
import type { LogOrigin } from "./forward-ports.ts";

const timeoutMs = 10_000;
/** `ExportResultCode.SUCCESS` of the SDK's core package, which is not a direct dependency. */
const succeeded = 0;
/** Longer strings are truncated, because collectors reject a request that is too large as a whole. */
const attributeLengthMax = 8_192;
const knownMethods = new Set(["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"]);

export interface OtlpLogsOptions {
  /** The base URL of the collector; `/v1/logs` is added. */
  readonly endpoint: string;
  readonly version: string;
  /** Distinguishes one operator from another. */
  readonly serviceInstance: string;
}

export interface OtlpLogs {
  /** @returns Undefined if the collector accepted all of them, or else why it did not. Never rejects. */
  send(origin: LogOrigin, entries: readonly LogEntry[], nowMs: number): Promise<string | undefined>;
  /** Drops all running requests. The SDK has no limit for a response that arrives one byte at a time. */
  cancel(): void;
  close(): Promise<void>;
}

export function createOtlpLogs({ endpoint, version, serviceInstance }: OtlpLogsOptions): OtlpLogs {
  const url = `${endpoint.replace(/\/+$/, "")}/v1/logs`;
  const exporter = new OTLPLogExporter({ url, timeoutMillis: timeoutMs });
  const requests = runningRequests(url);
  let emitted: ReadableLogRecord[] = [];
  // The SDK's processors swallow export errors.
  const collecting = {
    onEmit: (record: ReadableLogRecord) => void emitted.push(record),
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({
      "service.name": "wafsync",
      "service.version": version,
      "service.instance.id": serviceInstance,
    }),
    logRecordLimits: { attributeValueLengthLimit: attributeLengthMax },
    processors: [collecting],
  });
  const logger = provider.getLogger("wafsync", version);
  return {
    async send(origin, entries, nowMs) {
      for (const entry of entries) logger.emit(otlpRecordOf(origin, entry, nowMs));
      const records = emitted;
      emitted = [];
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      exporter.export(records, ({ code, error }: { readonly code: number; readonly error?: Error }) => {
        resolve(code === succeeded ? undefined : problemOf(error));
      });
      return await promise;
    },
    cancel: () => requests.cancel(),
    close: async () => {
      requests.close();
      await provider.shutdown();
      await exporter.shutdown();
    },
  };
}

/** The SDK gives no access to its requests, and an agent of our own would replace the certificates that it reads. */
function runningRequests(url: string): { cancel(): void; close(): void } {
  const { pathname, hostname } = new URL(url);
  const running = new Set<ClientRequest>();
  const onStart = (message: unknown): void => {
    const { request } = message as { readonly request: ClientRequest };
    if (request.path !== pathname || request.host !== hostname) return;
    running.add(request);
    request.once("close", () => running.delete(request));
  };
  subscribe("http.client.request.start", onStart);
  return {
    cancel: () => {
      for (const request of running) request.destroy();
    },
    close: () => void unsubscribe("http.client.request.start", onStart),
  };
}

/** One record. Its time is when the request was blocked, and its observed time is `nowMs`. */
function otlpRecordOf(origin: LogOrigin, entry: LogEntry, nowMs: number): LogRecord {
  const timeMs = logTimeMs(entry.timestamp);
  return {
    timestamp: Number.isNaN(timeMs) ? nowMs : timeMs,
    observedTimestamp: nowMs,
    severityNumber: SeverityNumber.WARN,
    severityText: "WARN",
    eventName: "wafsync.request.blocked",
    body: `Blocked: ${entry.block_reason}`,
    attributes: attributesOf(origin, entry),
  };
}

function attributesOf({ instance, domain }: LogOrigin, entry: LogEntry): Attributes {
  const isKnown = knownMethods.has(entry.http_method);
  const queryStart = entry.request_path.indexOf("?");
  const path = queryStart === -1 ? entry.request_path : entry.request_path.slice(0, queryStart);
  return {
    "client.address": entry.client_ip,
    "http.request.method": isKnown ? entry.http_method : "_OTHER",
    ...(isKnown ? {} : { "http.request.method_original": entry.http_method }),
    "url.path": path,
    ...(queryStart === -1 ? {} : { "url.query": entry.request_path.slice(queryStart + 1) }),
    "http.response.status_code": entry.http_status,
    "http.response.size": entry.response_size,
    ...(entry.user_agent === null ? {} : { "user_agent.original": entry.user_agent }),
    ...(entry.referrer === null ? {} : { "http.request.header.referer": [entry.referrer] }),
    ...(entry.country === null ? {} : { "geo.country.iso_code": entry.country }),
    ...(domain === undefined ? {} : { "server.address": domain }),
    "wafsync.instance": nameKey(instance),
    "wafsync.block.reason": entry.block_reason,
    "wafsync.cache.hit": entry.cache_hit,
  };
}

/** Omits the collector's message, which may quote the sent data. */
function problemOf(error: Error | undefined): string {
  const code: unknown = error !== undefined && "code" in error ? error.code : undefined;
  if (typeof code === "number") return `The OpenTelemetry collector answers with HTTP status ${code}.`;
  return `The OpenTelemetry collector can't be reached${typeof code === "string" ? ` (${code})` : ""}.`;
}
