// A row of the log of blocked requests, with simple values for all fields that a test does not set.
import type { LogEntry } from "../../../src/model/log-entry.ts";

export function anEntry(overrides: Partial<LogEntry> = {}): LogEntry {
  return {
    timestamp: "2026-03-10T11:00:00.000Z",
    client_ip: "192.0.2.1",
    http_method: "GET",
    request_path: "/",
    http_status: 403,
    response_size: 150,
    referrer: null,
    user_agent: "curl/8.5.0",
    block_reason: "SQL Injection 942100",
    country: "NL",
    cache_hit: false,
    ...overrides,
  };
}
