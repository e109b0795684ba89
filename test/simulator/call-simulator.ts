// A simple client of the WAF API for tests. It is only an HTTP client, so it can also send invalid requests.
import { Agent, request } from "undici";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../src/simulator/start-simulator.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

export const apiKey = "simulated+key/with=odd %signs";
export const domain = "shop.example";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

interface CallOptions {
  readonly form?: Readonly<Record<string, string>> | string;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export interface Caller {
  readonly simulator: Simulator;
  /** Calls the API; `target` is path and query. */
  readonly call: (method: string, target: string, options?: CallOptions) => Promise<Reply>;
  /** Calls the API with the right key where it belongs. */
  readonly read: (path: string, query?: Readonly<Record<string, string>>) => Promise<Reply>;
  readonly write: (method: "POST" | "DELETE", path: string, form: Readonly<Record<string, string>>) => Promise<Reply>;
  /** Calls the control port. */
  readonly control: (method: string, target: string, body?: unknown) => Promise<Reply>;
}

/** Starts a separate simulator for one test, which ends after it. */
export async function startSimulated(options: Partial<SimulatorOptions> = {}): Promise<Caller> {
  const keys = [{ key: apiKey, domain, primaryOrigin: "origin-1.shop.example" }];
  const simulator = await startSimulator({ keys, ...options });
  const agent = new Agent();
  atTestEnd(async () => {
    await agent.destroy();
    await simulator.close();
  });
  return makeCaller(simulator, agent);
}

function makeCaller(simulator: Simulator, agent: Agent): Caller {
  const call: Caller["call"] = async (method, target, { form, contentType, signal } = {}) => {
    const body = typeof form === "object" ? new URLSearchParams(form).toString() : form;
    const type = contentType ?? "application/x-www-form-urlencoded";
    return await send(agent, method, simulator.baseUrl + target, body, type, signal);
  };
  return {
    simulator,
    call,
    read: async (path, query = {}) =>
      await call("GET", `${path}?${new URLSearchParams({ api_key: apiKey, ...query }).toString()}`),
    write: async (method, path, form) => await call(method, path, { form: { api_key: apiKey, ...form } }),
    control: async (method, target, body) =>
      await send(agent, method, simulator.controlUrl + target, body && JSON.stringify(body), "application/json"),
  };
}

async function send(
  agent: Agent,
  method: string,
  url: string,
  body: unknown,
  contentType: string,
  signal?: AbortSignal,
): Promise<Reply> {
  const response = await request(url, {
    method,
    dispatcher: agent,
    headers: { "content-type": contentType },
    ...(typeof body === "string" ? { body } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.body.text();
  return { status: response.statusCode, headers: response.headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
