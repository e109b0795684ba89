// Blocked requests in a real OpenTelemetry Collector: sent by the operator, and by the sender alone.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createOtlpLogs, type OtlpLogs } from "../../src/logs/otlp-logs.ts";
import { findCollector } from "../support/control-plane/go-programs.ts";
import { describeWithFound } from "../support/processes/describe-missing.ts";
import { CollectorProcess } from "./collector-process.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";

const nowMs = Date.UTC(2026, 2, 10, 12);

await describeWithFound(
  "the OpenTelemetry Collector",
  "a collector to send to",
  await findCollector(),
  async (program) => {
    describe("the sender of log records", () => {
      let collector: CollectorProcess;
      let logs: OtlpLogs;
      const source = { instance: { namespace: "edge", name: "shop" }, domain: "shop.example" };

      beforeAll(async () => {
        collector = await CollectorProcess.prepare(program);
        await collector.start();
        logs = createOtlpLogs({ endpoint: `${collector.endpoint}/`, version: "1.2.3", serviceInstance: "pod-0" });
      });

      afterAll(async () => {
        await logs.close();
        await collector.close();
      });

      test("names what there is a semantic convention for by that, and the rest as its own", async () => {
        const entry = anEntry({ request_path: "/search?q=%27--", referrer: "https://shop.example/cart" });
        expect(await logs.send(source, [entry], nowMs)).toBeUndefined();
        await collector.stop();
        const [received] = await collector.received();
        await collector.start();
        expect(received).toStrictEqual({
          timeUnixNano: `${Date.parse(entry.timestamp)}000000`,
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
            "server.address": "shop.example",
            "wafsync.instance": "edge/shop",
            "wafsync.block.reason": "SQL Injection 942100",
            "wafsync.cache.hit": false,
          },
          resource: { "service.name": "wafsync", "service.version": "1.2.3", "service.instance.id": "pod-0" },
        });
      });

      test("takes any text that an attacker writes, and leaves out missing fields", async () => {
        const text = 'a\u0000b\u{1f600}\u202e"\\\ud800<&>\n';
        const entry = anEntry({
          timestamp: "no time",
          request_path: `/${text}${"x".repeat(100_000)}`,
          user_agent: null,
          referrer: null,
          country: null,
          http_method: "BREW",
          block_reason: text,
          response_size: 1.5,
        });
        const before = (await collector.received()).length;
        expect(await logs.send({ ...source, domain: undefined }, [entry], nowMs)).toBeUndefined();
        await collector.stop();
        const received = (await collector.received())[before];
        await collector.start();
        expect(received?.timeUnixNano).toBe(`${nowMs}000000`);
        expect(received?.attributes).toMatchObject({
          "http.request.method": "_OTHER",
          "http.request.method_original": "BREW",
        });
        expect(String(received?.attributes["url.path"]).length).toBeLessThan(10_000);
        expect(Object.keys(received?.attributes ?? {})).not.toContain("user_agent.original");
      });
    });

    await describeOperator("the operator with a collector", (world) => {
      let collector: CollectorProcess;

      beforeAll(async () => {
        collector = await CollectorProcess.prepare(program);
        await world().startOperator({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint } });
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
        const reason = async () => {
          return conditionOf(await world().read("WafInstance", namespace, "waf"), "LogsForwarded")?.reason;
        };
        await world().eventually("the collector is missed", async () => (await reason()) === "OutputUnavailable");
        await collector.start();
        const isForwarded = async (): Promise<boolean> => {
          const found = await world().read("WafInstance", namespace, "waf");
          const { forwarded } = (found?.status?.["logs"] ?? {}) as { readonly forwarded?: number };
          return forwarded === wanted.length;
        };
        await world().eventually("all is forwarded", isForwarded, 90_000);
        await world().eventually("it says so", async () => (await reason()) === "Forwarded");
        await world().operator.end();
        wanted.push(...block(waf, 20, wanted.length));
        await world().startOperator({ parameters: ["--otlp-endpoint", collector.endpoint] });
        await world().eventually("what came meanwhile is forwarded", isForwarded);
        await collector.stop();
        const received = await collector.received();
        const path = ({ attributes }: (typeof received)[number]) => String(attributes["url.path"]);
        expect(received.map(path).sort()).toStrictEqual(wanted.toSorted());
        expect(received[0]?.attributes).toMatchObject({
          "wafsync.instance": `${namespace}/waf`,
          "server.address": waf.domain,
        });
        expect(JSON.stringify(received)).not.toMatch(/made(?:\+|%2B)up/i);
        // Nothing but its own log is printed: the rows went elsewhere.
        expect(world().operator.process.printed()).not.toContain("request_path");
      });
    });
  },
);
