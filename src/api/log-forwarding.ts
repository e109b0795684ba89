// The part of a WafInstance that says whether and how its logs of blocked requests are forwarded.
import * as z from "zod";
import { durationBetween } from "./schema-parts.ts";

export const logForwarding = z.strictObject({
  enabled: z.boolean().default(false).describe("Whether blocked requests are forwarded."),
  interval: durationBetween("10s", "1d").default("5m").describe("How often new entries are asked for."),
  lookback: durationBetween("1h", "365d")
    .default("2d")
    .describe("How far back each query reaches, since entries arrive late. Entries that were handed on are left out."),
  plan: z
    .enum(["Basic", "CDN", "Advanced", "Professional", "Network", "Enterprise"])
    .optional()
    .describe("The plan of the WAF, which says how long the API keeps entries."),
  output: z
    .enum(["Stdout", "OTLP"])
    .default("Stdout")
    .describe("`Stdout`: JSON lines on standard output. `OTLP`: an OpenTelemetry collector."),
});
