// All calls of the WAF API, in one table. Whether a call writes is a property of the operation and not of its verb: a cache clear
// would work with GET, but is a write.
import type { ListName } from "../model/declared.ts";
import type { Urgency } from "./lane.ts";

export type Effect = "Read" | "Write";

interface OperationShape {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path below the base URL, with placeholders for the variable parts. */
  readonly endpoint: "/api/origins" | "/api/{list}_ips" | "/api/{list}_ip" | "/clear/{api_key}" | `/api/logs/${string}`;
  readonly effect: Effect;
  readonly urgency: Urgency;
}

const table = {
  ReadOrigins: { method: "GET", endpoint: "/api/origins", effect: "Read", urgency: "Normal" },
  AddOrigin: { method: "POST", endpoint: "/api/origins", effect: "Write", urgency: "Normal" },
  RemoveOrigin: { method: "DELETE", endpoint: "/api/origins", effect: "Write", urgency: "Normal" },
  ReadList: { method: "GET", endpoint: "/api/{list}_ips", effect: "Read", urgency: "Normal" },
  AddEntry: { method: "POST", endpoint: "/api/{list}_ip", effect: "Write", urgency: "Normal" },
  RemoveEntry: { method: "DELETE", endpoint: "/api/{list}_ip", effect: "Write", urgency: "Normal" },
  ClearCache: { method: "POST", endpoint: "/clear/{api_key}", effect: "Write", urgency: "Normal" },
  QueryLogs: { method: "GET", endpoint: "/api/logs/query", effect: "Read", urgency: "Bulk" },
  ScrollLogs: { method: "GET", endpoint: "/api/logs/scroll", effect: "Read", urgency: "Bulk" },
} as const satisfies Record<string, OperationShape>;

export type OperationName = keyof typeof table;
export type WriteName = {
  [Name in OperationName]: (typeof table)[Name]["effect"] extends "Write" ? Name : never;
}[OperationName];

export const wafOperations: Readonly<Record<OperationName, OperationShape>> = table;

/** For metrics and logs: the path without the key, such as `/api/blocklist_ips` or `/clear/{api_key}`. */
export function endpointOf(name: OperationName, list: ListName | undefined): string {
  return wafOperations[name].endpoint.replace("{list}", list ?? "{list}");
}

export function isWrite(name: OperationName): name is WriteName {
  return wafOperations[name].effect === "Write";
}
