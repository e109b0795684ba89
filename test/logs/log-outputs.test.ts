import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "@jest/globals";
import type { LogEntry } from "../../src/model/log-entry.ts";
import { createLogOutputs, logLines } from "../../src/logs/log-outputs.ts";
import { collectorMsMax, readHeaders } from "../../src/logs/otlp-logs.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { anEntry } from "../support/builders/log-entry.ts";

function aWorld(endpoint?: string) {
  const abandon = new AbortController();
  const clock = createVirtualClock();
  const common = { version: "0", podName: "pod", clock, abandon: abandon.signal };
  const headers = { authorization: "Bearer a" };
  return {
    abandon,
    clock,
    outputs: createLogOutputs({ collector: endpoint === undefined ? undefined : { endpoint, headers }, ...common }),
  };
}

const origin = { instance: { namespace: "edge", name: "shop" }, domain: "shop.example" };

test("a line begins with the origin of the entry, and contains all of its fields, including undocumented ones", () => {
  const entry = { ...anEntry(), rule_set: "crs" };
  expect(logLines(origin, [entry, entry])).toBe(
    `${JSON.stringify({ waf_instance: "edge/shop", domain: "shop.example", ...entry })}\n`.repeat(2),
  );
});

test("rows that cannot be written are a problem only for their instance", async () => {
  const { abandon, outputs } = aWorld();
  const endless: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  const failed = await outputs.of("Stdout").write(origin, [{ ...anEntry(), endless } as LogEntry]);
  expect(failed).toBe("The rows can't be written (RangeError).");
  // It does not come so far as to write.
  abandon.abort();
  expect(await outputs.of("Stdout").write(origin, [anEntry()])).toBe("The operator is stopping.");
});

test("no string in an entry can fake another origin, start a line or control a terminal", () => {
  const request_path = "/a\nb\u2028c\u009b31md\u001b[2J\u007f";
  const entry = { ...anEntry({ request_path }), waf_instance: "other/waf", domain: "elsewhere.example" };
  const lines = logLines(origin, [entry]);
  expect(lines.split("\n")).toHaveLength(2);
  // oxlint-disable-next-line no-control-regex -- the test is about these characters
  expect(lines.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
  expect(JSON.parse(lines)).toStrictEqual({ ...entry, waf_instance: "edge/shop", domain: "shop.example" });
});

test("headers for the collector are read as OpenTelemetry defines them, and refused if one is invalid", () => {
  expect(readHeaders("a=Basic%20YTpi=, x-scope = shop ,")).toStrictEqual({ a: "Basic YTpi=", "x-scope": "shop" });
  const invalid = ["no-value", "=nameless", "a b=c", "a=1%0a1", "a=%zz"];
  expect(invalid.map(readHeaders)).toStrictEqual(invalid.map(() => undefined));
});

/** Runs the test with a collector that answers in this way. */
async function withCollector(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  act: (world: ReturnType<typeof aWorld>) => Promise<void>,
): Promise<void> {
  const collector = createServer(answer);
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const world = aWorld(`http://127.0.0.1:${(collector.address() as AddressInfo).port}/base/`);
  try {
    await act(world);
  } finally {
    world.outputs.close();
    collector.closeAllConnections();
    await new Promise((resolve) => collector.close(resolve));
  }
}

test("a collector gets the rows with its headers, whatever numbers and times they contain", async () => {
  const requests: {
    readonly url: string | undefined;
    readonly authorization: string | undefined;
    readonly sent: string;
  }[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url, headers } = request;
    requests.push({ url, authorization: headers.authorization, sent: await text(request) });
    response.writeHead(requests.length === 1 ? 200 : 503).end();
  };
  await withCollector(
    (request, response) => void answer(request, response),
    async ({ outputs }) => {
      const odd = { timestamp: "+275000-01-01T00:00:00Z", response_size: 1e300, request_path: "x".repeat(10_000) };
      expect(await outputs.of("OTLP").write(origin, [anEntry(), anEntry(odd)])).toBeUndefined();
      expect(requests).toMatchObject([{ url: "/base/v1/logs", authorization: "Bearer a" }]);
      const [first, second] = JSON.parse(requests[0]?.sent ?? "").resourceLogs[0].scopeLogs[0].logRecords;
      expect(first.timeUnixNano).toBe(`${Date.parse(anEntry().timestamp)}000000`);
      expect(second.timeUnixNano).toBe(second.observedTimeUnixNano);
      expect(second.attributes).toContainEqual({ key: "http.response.size", value: { doubleValue: 1e300 } });
      expect(second.attributes).toContainEqual({ key: "url.path", value: { stringValue: "x".repeat(8_192) } });
      expect(await outputs.of("OTLP").write(origin, [anEntry()])).toMatch(/ answers with HTTP status 503\.$/);
    },
  );
});

test("a collector that never finishes its response costs one deadline, and receives no other requests for a while", async () => {
  let requests = 0;
  const asked = Promise.withResolvers<void>();
  const dropped = Promise.withResolvers<void>();
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    requests += 1;
    request.resume();
    response.writeHead(200).write("x");
    response.once("close", () => dropped.resolve());
    asked.resolve();
  };
  await withCollector(answer, async ({ clock, outputs }) => {
    const problem = "The OpenTelemetry collector did not finish its response within 20 s.";
    const writing = outputs.of("OTLP").write(origin, [anEntry()]);
    await asked.promise;
    await clock.advance(collectorMsMax);
    expect(await writing).toBe(problem);
    await dropped.promise;
    const other = { ...origin, instance: { namespace: "edge", name: "other" } };
    expect(await outputs.of("OTLP").write(other, [anEntry()])).toBe(problem);
    expect(requests).toBe(1);
  });
});
