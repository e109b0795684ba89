// The possible faults of a call to the WAF, before or after its effect.
import type { SimAnswer } from "./sim-waf.ts";

export type SimFault =
  /** No connection: nothing was sent. */
  | { readonly kind: "Refused" }
  /** The connection is closed without a response. */
  | { readonly kind: "Reset"; readonly effect: Effect }
  /** No response until the caller gives up. */
  | { readonly kind: "Hang"; readonly effect: Effect }
  /** No response, and the write takes effect after the caller has given up. */
  | { readonly kind: "Late" }
  | { readonly kind: "Answer"; readonly effect: Effect; readonly name: string; readonly answer: SimAnswer };

type Effect = "Before" | "After";

/** Undocumented responses and errors. Some of them echo `key`, as a careless API would. */
function answers(key: string): readonly (readonly [string, SimAnswer])[] {
  const html = `<html><body>Bad gateway for /clear/${encodeURIComponent(key)}?api_key=${key}</body></html>`;
  return [
    ["500", { status: 500, body: html }],
    ["502 empty", { status: 502, body: "" }],
    ["503", { status: 503, body: "{}", headers: { "retry-after": "7" } }],
    ["429", { status: 429, body: "{}" }],
    ["429 for 3 s", { status: 429, body: "slow down", headers: { "retry-after": "3" } }],
    ["403", { status: 403, body: JSON.stringify({ success: false, message: `Bad API Key Value ${key}` }) }],
    ["200 with HTML", { status: 200, body: html }],
    ["200 cut off", { status: 200, body: '{"success": tr' }],
    ["200 without success", { status: 200, body: JSON.stringify({ success: false, message: `no ${key}` }) }],
    ["200 empty", { status: 200, body: "" }],
    ["200 true", { status: 200, body: "true" }],
    ["200 with an object", { status: 200, body: JSON.stringify({ success: true, ips: [] }) }],
    ["200 with numbers", { status: 200, body: "[1, 2]" }],
    ["302", { status: 302, body: "", headers: { location: `https://elsewhere.example/?api_key=${key}` } }],
  ];
}

/** A random fault. `random` returns a number from 0 to below 1. */
export function anyFault(random: () => number, key: string): SimFault {
  const effect = random() < 0.5 ? "Before" : "After";
  const choice = random();
  if (choice < 0.1) return { kind: "Refused" };
  if (choice < 0.3) return { kind: "Reset", effect };
  if (choice < 0.45) return { kind: "Hang", effect };
  const known = answers(key);
  const [name, answer] = known[Math.floor(random() * known.length)] ?? ["200 empty", { status: 200, body: "" }];
  return { kind: "Answer", effect, name, answer };
}

/** A valid write is rejected: according to the contract, nothing was changed. */
export const refusal: SimFault = {
  kind: "Answer",
  effect: "Before",
  name: "400",
  answer: { status: 400, body: JSON.stringify({ success: false, domain: "shop.example", message: "Not today" }) },
};

export function describeFault(fault: SimFault): string {
  if (fault.kind === "Refused") return "connection refused";
  if (fault.kind === "Late") return "no answer, and a late effect";
  const when = fault.effect === "Before" ? "before its effect" : "after its effect";
  if (fault.kind === "Answer") return `${fault.name}, ${when}`;
  return `${fault.kind === "Reset" ? "connection reset" : "no answer"}, ${when}`;
}

export function describeSaveFault(fault: "Conflict" | "Failed"): string {
  return fault === "Conflict" ? "conflict" : "write failed";
}
