// A client of the simulator's control port: reads the state of the WAF, and changes it as another writer would.

export interface WafState {
  readonly origins: readonly { readonly host: string; readonly type: string }[];
  readonly blocklist: readonly string[];
  readonly allowlist: readonly string[];
  readonly counters: {
    readonly requests: number;
    readonly byEndpoint: Readonly<Record<string, number>>;
    readonly cacheClears: number;
    readonly refusals: number;
  };
  readonly overlaps: number;
}

export interface RequestRecord {
  readonly method: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly timeMs: number;
}

export class SimulatorControl {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async state(): Promise<WafState> {
    const { wafs } = (await this.#call("GET", "/state")) as { wafs: [WafState] };
    return wafs[0];
  }

  /** The latest requests, oldest first. */
  async requests(limit: number): Promise<readonly RequestRecord[]> {
    return (await this.#call("GET", `/requests?limit=${limit}`)) as readonly RequestRecord[];
  }

  async setLatency(latencyMs: number): Promise<void> {
    await this.#call("POST", "/latency", { latencyMs });
  }

  /** Edits the blocklist without wafsync. */
  async edit(how: "add" | "remove", entries: readonly string[]): Promise<void> {
    await this.#call(how === "add" ? "POST" : "DELETE", "/entries", { list: "blocklist", entries });
  }

  /** Adds rows of blocked requests, which can be read immediately. */
  async addLogs(domain: string, entries: readonly object[]): Promise<void> {
    await this.#call("POST", "/logs", { domain, entries });
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.#url + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    if (!response.ok) throw new Error(`the control port responded with ${response.status} to ${method} ${path}`);
    return await response.json();
  }
}
