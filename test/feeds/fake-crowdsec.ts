// A fake of the CrowdSec local API: decisions with their expiry, the cursor of a bouncer, and the behavior of the real API if its
// table is missing.
import { ScriptedServer } from "../support/fakes/scripted-server.ts";

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
  readonly server: ScriptedServer;
  readonly key = "bouncer-key-0123456789";
  decisions: FakeDecision[] = [];
  isTableGone = false;
  #added: FakeDecision[] = [];
  #deleted: FakeDecision[] = [];

  private constructor(server: ScriptedServer) {
    this.server = server;
  }

  static async start(): Promise<FakeCrowdsec> {
    const fake = new FakeCrowdsec(await ScriptedServer.start());
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

  /** @param seconds identifies one of several decisions */
  remove(value: string, seconds?: number): void {
    const at = this.decisions.findIndex(
      (one) => one.value === value && (seconds === undefined || one.seconds === seconds),
    );
    this.#deleted.push(...this.decisions.splice(at, 1));
  }

  /** Like the real server: filters after it has chosen the longest decision for each value, unless `dedup` is false. */
  #changes({ searchParams }: URL) {
    const isLongest = (one: FakeDecision): boolean =>
      !this.decisions.some(({ value, seconds }) => value === one.value && seconds > one.seconds);
    const isOther = (one: FakeDecision): boolean => !this.decisions.some(({ value }) => value === one.value);
    const dedup = searchParams.get("dedup") !== "false";
    const added = this.#added.filter((one) => !dedup || isLongest(one));
    const deleted = this.#deleted.filter((one) => !dedup || isOther(one));
    this.#added = [];
    this.#deleted = [];
    return { new: filtered(added, searchParams), deleted: filtered(deleted, searchParams) };
  }

  works(): void {
    this.server.answers(({ url, headers }, response) => {
      const json = (status: number, body: unknown): unknown =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      if (headers["x-api-key"] !== this.key) return json(403, { message: "access forbidden" });
      if (url.startsWith("/v1/decisions/stream")) {
        const changes = this.#changes(new URL(url, this.url));
        return json(200, this.isTableGone ? { new: [], deleted: [] } : changes);
      }
      if (this.isTableGone) return json(500, { message: "no such table: decisions" });
      const all = filtered(this.decisions, new URL(url, this.url).searchParams);
      return json(200, all.length === 0 ? null : all);
    });
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }
}

/** Types are compared exactly. */
function filtered(decisions: readonly FakeDecision[], parameters: URLSearchParams) {
  const [origins, type] = [parameters.get("origins")?.split(","), parameters.get("type")];
  return decisions.flatMap((one) => {
    const wired = wire(one);
    return (origins?.includes(wired.origin) ?? true) && (type ?? wired.type) === wired.type ? [wired] : [];
  });
}

function wire({ value, scope = "Ip", type = "ban", origin = "cscli", scenario = "manual", seconds }: FakeDecision) {
  const duration = `${seconds < 0 ? "-" : ""}${Math.floor(Math.abs(seconds) / 60)}m${Math.abs(seconds) % 60}s`;
  return { id: seconds, uuid: "u", origin, type, scope, value, duration, scenario, simulated: false };
}
