// The part of a WafInstance that configures the forwarding of blocked requests.
import * as z from "zod";
import { durationBetween } from "./schema-parts.ts";

export const logForwarding = z.strictObject({
  enabled: z.boolean().default(false).describe("Whether blocked requests are forwarded."),
  interval: durationBetween("10s", "1d").default("5m").describe("How often wafsync queries the API for new entries."),
  lookback: durationBetween("1h", "365d")
    .default("2d")
    .describe(
      "How far back each query reaches, because entries can arrive late. Entries that were already forwarded are skipped.",
    ),
  plan: z
    .enum(["Basic", "CDN", "Advanced", "Professional", "Network", "Enterprise"])
    .optional()
    .describe("The subscription plan of the WAF, which determines how long the API keeps entries."),
  output: z
    .enum(["Stdout", "OTLP"])
    .default("Stdout")
    .describe("`Stdout`: JSON lines on stdout. `OTLP`: an OpenTelemetry collector."),
});
