// A fake of the CrowdSec local API: decisions with their expiry, the cursor of a bouncer, and the behavior of the real API if its
// table is missing.
import { FeedServer } from "./feed-server.ts";

export interface FakeDecision {
  readonly value: string;
  readonly scope?: string;
  readonly type?: string;
  readonly origin?: string;
  readonly scenario?: string;
  /** In seconds from now. */
  readonly seconds: number;
}

export class FakeCrowdsec {
  readonly server: FeedServer;
  readonly key = "bouncer-key-0123456789";
  readonly usage: unknown[] = [];
  decisions: FakeDecision[] = [];
  isTableGone = false;
  #added: FakeDecision[] = [];
  #deleted: FakeDecision[] = [];

  private constructor(server: FeedServer) {
    this.server = server;
  }

  static async start(): Promise<FakeCrowdsec> {
    const fake = new FakeCrowdsec(await FeedServer.start());
    fake.works();
    return fake;
  }

  get url(): string {
    return this.server.url("");
  }

  /** The paths of all calls, with their queries. */
  get calls(): readonly string[] {
    return this.server.requests.map(({ url }) => url);
  }

  add(...decisions: readonly FakeDecision[]): void {
    this.decisions.push(...decisions);
    this.#added.push(...decisions);
  }

  /** Like the real server: reports a decision as deleted only if no other decision for the value is active. */
  remove(value: string): void {
    const at = this.decisions.findIndex((one) => one.value === value);
    const [gone] = this.decisions.splice(at, 1);
    if (gone !== undefined && !this.decisions.some((one) => one.value === value)) this.#deleted.push(gone);
  }

  works(): void {
    this.server.answers(({ url = "", headers, method }, response) => {
      const json = (status: number, body: unknown): unknown =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      if (headers["x-api-key"] !== this.key) return json(403, { message: "access forbidden" });
      if (method === "POST") {
        this.usage.push(JSON.parse(this.server.requests.at(-1)?.body ?? "null"));
        return json(201, null);
      }
      if (url.startsWith("/v1/decisions/stream")) {
        const changes = { new: this.#added.map(wire), deleted: this.#deleted.map(wire) };
        this.#added = [];
        this.#deleted = [];
        return json(200, this.isTableGone ? { new: [], deleted: [] } : changes);
      }
      if (this.isTableGone) return json(500, { message: "no such table: decisions" });
      return json(200, this.decisions.length === 0 ? null : this.decisions.map(wire));
    });
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }
}

function wire({ value, scope = "Ip", type = "ban", origin = "cscli", scenario = "manual", seconds }: FakeDecision) {
  const duration = `${seconds < 0 ? "-" : ""}${Math.floor(Math.abs(seconds) / 60)}m${Math.abs(seconds) % 60}s`;
  return { id: 1, uuid: "u", origin, type, scope, value, duration, scenario, simulated: false };
}
