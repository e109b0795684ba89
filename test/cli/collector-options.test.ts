import { expect, test } from "@jest/globals";
import { readCollector } from "../../src/cli/operator-command.ts";

test("the collector's headers are read from the environment as OpenTelemetry defines them", () => {
  const headers = "authorization=Basic%20YTpi=, x-scope = shop ,";
  expect(readCollector("http://a:1", { otlp: { endpoint: "http://b:2", headers } })).toStrictEqual({
    endpoint: "http://a:1",
    headers: { authorization: "Basic YTpi=", "x-scope": "shop" },
  });
  expect(readCollector(undefined, { otlp: { endpoint: undefined, headers } })).toBeUndefined();
});

test.each(["no-value", "=nameless", "a b=c", "a=1%0a1", "a=%zz"])(
  "invalid headers are an error without their text: %s",
  (headers) => {
    expect(() => readCollector("http://a:1", { otlp: { endpoint: undefined, headers } })).toThrow(
      "OTEL_EXPORTER_OTLP_HEADERS is invalid",
    );
  },
);
