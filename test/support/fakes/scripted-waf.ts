// A client of the WAF API for a server with scripted responses.
import { type Clock, realClock } from "../../../src/async/clock.ts";
import { ApiKey } from "../../../src/model/api-key.ts";
import { createWafClient, type WafClient, type WafClientOptions } from "../../../src/waf/client.ts";
import { type HeldLane, LaneRegistry } from "../../../src/waf/lane.ts";
import { type Answer, ScriptedServer } from "./scripted-server.ts";

export async function startScriptedWaf(answer: Answer): Promise<ScriptedServer> {
  const server = await ScriptedServer.start();
  server.answers(answer);
  return server;
}

/** Contains reserved characters of URLs, forms, JSON and HTML, so that each encoding of it is different. */
export const testKey = `K3y/+%"&<é=7f3a9c0d`;

export interface ClientUnderTest {
  readonly waf: WafClient;
  readonly lane: HeldLane;
  readonly lanes: LaneRegistry;
}

export function clientFor(
  baseUrl: string,
  options: Partial<WafClientOptions> & { readonly clock?: Clock; readonly minRequestIntervalMs?: number } = {},
): ClientUnderTest {
  const { key = new ApiKey(testKey), clock = realClock, minRequestIntervalMs = 0, ...rest } = options;
  const lanes = new LaneRegistry({ clock });
  const lane = lanes.acquire({ baseUrl, key, minRequestIntervalMs });
  const permit = () => ({ permitted: true }) as const;
  const waf = createWafClient({ baseUrl, key, requestTimeoutMs: 10_000, lane, permit, clock, ...rest });
  return { waf, lane, lanes };
}
