// The documented shape of every answer. Fields that are not documented are let through and dropped; anything else that is
// not as documented is a broken contract, and never an empty list.
import * as z from "zod";
import type { OriginsRead, WriteAccepted } from "../model/waf-result.ts";

export const listLengthMax = 1_000_000;
/** Of one item of a list. The longest network has 43 characters; the rest is room for spellings nobody thought of. */
export const listItemLengthMax = 512;
/** Of one page of logs; the API's own limit is 10,000. */
export const logPageLengthMax = 100_000;
export const hostsMax = 10_000;

const domain = z.string().min(1).max(1024);
const host = z.string().min(1).max(1024);

/** `origin` is one host today. A list would be more than the API promises, and would be used. */
export const originsAnswer = z
  .object({ success: z.literal(true), domain, origin: z.union([host, z.array(host).min(1).max(hostsMax)]) })
  .transform(({ domain, origin }): OriginsRead => {
    const hosts = typeof origin === "string" ? [origin] : origin;
    return { domain, primary: hosts[0] ?? "", hosts };
  });

/** A bare array. Checked by hand, so that a long list of wrong items makes one complaint and not a million. */
export const listAnswer = z
  .array(z.unknown())
  .max(listLengthMax)
  .transform((items, context): readonly string[] => {
    const position = items.findIndex((item) => typeof item !== "string" || item.length > listItemLengthMax);
    if (position < 0) return items as readonly string[];
    const message = `is not a string of at most ${listItemLengthMax} characters`;
    context.addIssue({ code: "custom", path: [position], message, input: undefined });
    return z.NEVER;
  });

export const writeAnswer = z
  .object({ success: z.literal(true), domain, message: z.string().optional() })
  .transform(({ domain, message }): WriteAccepted => ({ domain, message: message ?? "" }));

export const failureAnswer = z.object({ success: z.literal(false), message: z.string() });

/** One blocked request, under the API's own names. The lengths of its texts are bounded by the body alone: anybody writes them. */
const logEntry = z.object({
  timestamp: z.string(),
  client_ip: z.string(),
  http_method: z.string(),
  request_path: z.string(),
  http_status: z.number(),
  response_size: z.number(),
  referrer: z.string().nullable(),
  user_agent: z.string().nullable(),
  block_reason: z.string(),
  country: z.string().nullable(),
  cache_hit: z.boolean(),
});

export type LogEntry = Readonly<z.output<typeof logEntry>>;

export interface LogPage {
  /** For the next page; null at the end. */
  readonly scrollId: string | null;
  /** Of the whole range, not of the page. */
  readonly total: number;
  readonly entries: readonly LogEntry[];
}

export const logAnswer = z
  .object({
    _scroll_id: z.string().min(1).max(65_536).nullable(),
    hits: z.object({
      total: z.object({ value: z.number().int().min(0) }),
      hits: z.array(logEntry).max(logPageLengthMax),
    }),
  })
  .transform(({ _scroll_id, hits }): LogPage => ({
    scrollId: _scroll_id,
    total: hits.total.value,
    entries: hits.hits,
  }));

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** The text of a body as `schema` describes it. `problem` names the first fault and holds nothing of the body. */
export function parseAnswer<T>(schema: z.ZodType<T>, text: string): Parsed<T> {
  const json = parseJson(text);
  if (!json.ok) return json;
  const parsed = schema.safeParse(json.value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issue = parsed.error.issues[0];
  const path = issue === undefined || issue.path.length === 0 ? "the answer" : issue.path.join(".");
  return { ok: false, problem: `${path}: ${issue?.message ?? "has another shape"}` };
}

function parseJson(text: string): Parsed<unknown> {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false, problem: text.trimStart().startsWith("<") ? "it is an HTML page" : "it is not JSON" };
  }
}
