import { describe, expect, test } from "@jest/globals";
import { readObservedEntry } from "../../../src/model/entry.ts";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import { ClientDetails } from "../../../src/cli/report/client-details.ts";
import { row } from "../../support/fakes/scripted-logs.ts";

/** Adds rows as a report does: each row with the number of rows of its client so far. */
function followed(rows: readonly LogEntry[]): ClientDetails {
  const details = new ClientDetails();
  const counts = new Map<string, number>();
  for (const entry of rows) {
    const count = (counts.get(entry.client_ip) ?? 0) + 1;
    counts.set(entry.client_ip, count);
    details.add(readObservedEntry(entry.client_ip), count, entry);
  }
  return details;
}

const scanner = readObservedEntry("203.0.113.9");

describe("the details of a client", () => {
  test("count paths, user agents, reasons, methods and statuses", () => {
    const details = followed([
      row("/a?x=1", { client_ip: "203.0.113.9" }),
      row("/a?x=2", { client_ip: "203.0.113.9", user_agent: null }),
      row("/b", { client_ip: "203.0.113.9", http_method: "POST", http_status: 429, block_reason: "XSS 1" }),
      row("/c", { client_ip: "192.0.2.1" }),
    ]);
    const counted = details.of(scanner, 1);
    expect(counted).toMatchObject({
      rows: 3,
      paths: { items: [{ key: "/a", count: 2 }], distinctMin: 2, shortMax: 0 },
      agents: { items: [{ key: "curl/8.5.0", count: 2 }], distinctMin: 2 },
      reasons: { items: [{ key: "Bad Bot 1002", count: 2 }] },
      methods: { items: [{ key: "GET", count: 2 }] },
      statuses: { items: [{ key: "403", count: 2 }] },
    });
    expect(details.of(readObservedEntry("198.51.100.1"), 1)).toBeUndefined();
  });

  test("are kept for a busy client among a flood of others, and report how many rows they cover", () => {
    const flood = Array.from({ length: 5_000 }, (_, place) =>
      row("/", { client_ip: `2001:db8::${place.toString(16)}` }),
    );
    const busy = Array.from({ length: 300 }, (_, place) => row(`/${place}`, { client_ip: "203.0.113.9" }));
    const mixed = flood.flatMap((entry, place) => [
      entry,
      ...(place >= 2_000 ? busy.slice(place - 2_000, place - 1_999) : []),
    ]);
    const details = followed(mixed);
    const counted = details.of(scanner, 5);
    expect(counted?.rows).toBeGreaterThan(290);
    expect(counted?.rows).toBeLessThanOrEqual(300);
    expect(counted?.paths.shortMax).toBeGreaterThan(0);
    const others = flood.filter(({ client_ip }) => details.of(readObservedEntry(client_ip), 5) !== undefined);
    expect(others.length).toBeLessThanOrEqual(400);
  });
});
