// Blocked requests in a real OpenTelemetry Collector: sent by the operator, each once.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import packageJson from "../../package.json" with { type: "json" };
import { findCollector } from "../support/control-plane/go-programs.ts";
import { fast } from "../support/processes/slowness.ts";
import { describeWithFound } from "../support/processes/describe-missing.ts";
import { CollectorProcess } from "./collector-process.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";

/** The retries of a collector that is missing. */
const haste = fast(4);

await describeWithFound(
  "the OpenTelemetry Collector",
  "a collector to send to",
  await findCollector(),
  async (program) => {
    await describeOperator("the operator with a collector", (world) => {
      let collector: CollectorProcess;

      beforeAll(async () => {
        collector = await CollectorProcess.prepare(program);
        await world().startOperator({ haste, environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint } });
      });

      afterAll(async () => await collector.close());

      function block(waf: TestWaf, count: number, start: number): string[] {
        const timeMs = Date.now() - 3_600_000;
        return Array.from({ length: count }, (_, index) => {
          const request_path = `/path-${start + index}`;
          const timestamp = new Date(timeMs).toISOString();
          waf.view.logs.add({ ...anEntry({ timestamp, request_path }), user_agent: "curl", country: "NL" }, timeMs);
          return request_path;
        });
      }

      test("keeps the entries while the collector is away, and sends each once when it is there, over a restart", async () => {
        const logs = { enabled: true, interval: "10s", output: "OTLP" };
        const { namespace, waf } = await world().newInstance("collector", { logs });
        const wanted = block(waf, 1300, 0);
        const timestamp = new Date(Date.now() - 3_600_000).toISOString();
        const told = anEntry({ timestamp, request_path: "/search?q=%27--", referrer: "https://shop.example/cart" });
        const hostile = {
          ...anEntry({ timestamp, request_path: `/\u0000\u{1f600}\u202e"\\\ud800<&>${"x".repeat(100_000)}` }),
          user_agent: null,
          http_method: "BREW",
          block_reason: "a\u0000b\u{1f600}\ud800\n",
          response_size: 1.5,
        };
        for (const entry of [told, hostile]) waf.view.logs.add(entry as never, Date.parse(timestamp));
        const reason = async () => {
          return conditionOf(await world().read("WafInstance", namespace, "waf"), "LogsForwarded")?.reason;
        };
        await world().eventually("the collector is missed", async () => (await reason()) === "OutputUnavailable");
        await collector.start();
        const isForwarded = async (): Promise<boolean> => {
          const found = await world().read("WafInstance", namespace, "waf");
          const { forwarded } = (found?.status?.["logs"] ?? {}) as { readonly forwarded?: number };
          return forwarded === wanted.length + 2;
        };
        await world().eventually("all is forwarded", isForwarded, 90_000);
        await world().eventually("it says so", async () => (await reason()) === "Forwarded");
        await world().operator.end();
        wanted.push(...block(waf, 20, wanted.length));
        await world().startOperator({ haste, parameters: ["--otlp-endpoint", collector.endpoint] });
        await world().eventually("what came meanwhile is forwarded", isForwarded);
        await collector.stop();
        const received = await collector.received();
        const path = ({ attributes }: (typeof received)[number]) => String(attributes["url.path"]);
        const paths = received.map(path).filter((one) => one.startsWith("/path-"));
        expect([paths.sort(), received.length]).toStrictEqual([wanted.toSorted(), wanted.length + 2]);
        expect(received.find((one) => path(one) === "/search")).toStrictEqual({
          timeUnixNano: `${Date.parse(timestamp)}000000`,
          severityText: "WARN",
          eventName: "wafsync.request.blocked",
          body: "Blocked: SQL Injection 942100",
          attributes: {
            "client.address": "192.0.2.1",
            "http.request.method": "GET",
            "http.request.header.referer": ["https://shop.example/cart"],
            "http.response.status_code": 403,
            "http.response.size": 150,
            "url.path": "/search",
            "url.query": "q=%27--",
            "user_agent.original": "curl/8.5.0",
            "geo.country.iso_code": "NL",
            "server.address": waf.domain,
            "wafsync.instance": `${namespace}/waf`,
            "wafsync.block.reason": "SQL Injection 942100",
            "wafsync.cache.hit": false,
          },
          resource: {
            "service.name": "wafsync",
            "service.version": packageJson.version,
            "service.instance.id": "wafsync-0",
          },
        });
        const odd = received.find(({ attributes }) => attributes["http.request.method"] === "_OTHER")?.attributes ?? {};
        expect(odd["http.request.method_original"]).toBe("BREW");
        expect(String(odd["url.path"]).length).toBeLessThan(10_000);
        expect(Object.keys(odd)).not.toContain("user_agent.original");
        expect(JSON.stringify(received)).not.toMatch(/made(?:\+|%2B)up/i);
        // Nothing but its own log is printed: the rows went elsewhere.
        expect(world().operator.process.printed()).not.toContain("request_path");
      });
    });
  },
);
