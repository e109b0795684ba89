// The WAF of a simulation, which responds to requests, and may show old lists. It reports each change to the ledger.
import { type Entry, readObservedEntry } from "../../../src/address/entry.ts";
import type { ListName } from "../../../src/model/declared.ts";
import { MemoryWaf } from "../fakes/memory-waf.ts";

export interface SimRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly parameters: URLSearchParams;
}

export interface SimAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EntryChange {
  readonly kind: "Added" | "Removed";
  readonly list: ListName;
  readonly entry: Entry;
}

export interface OriginChange {
  readonly kind: "OriginAdded" | "OriginRemoved";
  readonly host: string;
  readonly type: string;
}

export type WafChange = EntryChange | OriginChange | { readonly kind: "CacheCleared" };

/** The age of a list that is read: current, two seconds old, or from before the last write. */
export type Staleness = "None" | "Seconds" | "Write";
export const staleMsMax = 2_000;

export class SimWaf extends MemoryWaf<string> {
  key: string;

  /** The lists before each of their last changes, oldest first. */
  readonly #past: { readonly list: ListName; readonly untilMs: number; readonly texts: readonly string[] }[] = [];
  readonly #nowMs: () => number;

  constructor(domain: string, key: string, nowMs: () => number) {
    super(domain);
    this.key = key;
    this.#nowMs = nowMs;
  }

  /** Reads may show the current state for a while. */
  override remember(list: ListName): void {
    const nowMs = this.#nowMs();
    this.#past.push({ list, untilMs: nowMs, texts: [...this.lists[list]] });
    while ((this.#past[0]?.untilMs ?? nowMs) < nowMs - staleMsMax) this.#past.shift();
  }

  /** The list that a read returns. */
  shown(list: ListName, staleness: Staleness): readonly string[] {
    const sinceMs = this.#nowMs() - staleMsMax;
    const past = this.#past.filter((state) => state.list === list && state.untilMs > sinceMs);
    const state = staleness === "None" ? undefined : staleness === "Write" ? past.at(-1) : past[0];
    return state?.texts ?? this.lists[list];
  }

  /** `changed` is called with the effect of the request on the WAF. */
  serve(request: SimRequest, changed: (change: WafChange) => void, staleness: Staleness = "None"): SimAnswer {
    const { method, path, parameters } = request;
    if (path.startsWith("/clear/")) {
      if (decodeURIComponent(path.slice("/clear/".length)) !== this.key) return badKey;
      changed({ kind: "CacheCleared" });
      return this.#accepted();
    }
    if (parameters.get("api_key") !== this.key) return badKey;
    if (path === "/api/origins") return this.#serveOrigins(method, parameters, changed);
    const list: ListName = path.includes("blocklist") ? "blocklist" : "allowlist";
    if (method === "GET") return { status: 200, body: JSON.stringify(this.shown(list, staleness)) };
    const text = parameters.get("ip") ?? "";
    const refused = method === "POST" ? this.addEntry(list, text) : this.removeEntry(list, text);
    if (refused !== undefined) return this.#refused(refused);
    changed({ kind: method === "POST" ? "Added" : "Removed", list, entry: readObservedEntry(text) });
    return this.#accepted();
  }

  #serveOrigins(method: string, parameters: URLSearchParams, changed: (change: WafChange) => void): SimAnswer {
    if (method === "GET") {
      return { status: 200, body: JSON.stringify({ success: true, domain: this.domain, origin: this.primary }) };
    }
    const host = parameters.get("origin") ?? "";
    const type = parameters.get("origin_type") ?? this.origins.get(host) ?? "";
    const refused = method === "POST" ? this.addOrigin(host, type) : this.removeOrigin(host);
    if (refused !== undefined) return this.#refused(refused);
    changed({ kind: method === "POST" ? "OriginAdded" : "OriginRemoved", host, type });
    return this.#accepted();
  }

  #accepted(): SimAnswer {
    return { status: 200, body: JSON.stringify({ success: true, domain: this.domain, message: "done" }) };
  }

  #refused(message: string): SimAnswer {
    return { status: 400, body: JSON.stringify({ success: false, domain: this.domain, message }) };
  }
}

const badKey: SimAnswer = {
  status: 403,
  body: JSON.stringify({ success: false, message: "Bad API Key Value" }),
};

/** Spellings in which an API may return an entry. */
export const spellings: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => (text.includes("/") ? text : `${text}${text.includes(":") ? "/128" : "/32"}`),
  (text) => text.toUpperCase(),
  (text) => text.replace("::", `:${"0:".repeat(9 - text.split(":").length)}`).replace(":/", ":0/"),
  (text) => text.replace(/\.0\/24$/, ".77/24"),
];
