// The documented shape of every response. Undocumented fields are dropped. Any other deviation from the documentation is a fault,
// and never an empty list.
import * as z from "zod";
import { visibleText } from "../model/texts.ts";
import type { OriginsRead, WriteAccepted } from "../model/waf-result.ts";

export const listLengthMax = 1_000_000;
/** The maximum length of a list item. The longest network has 43 characters; the rest allows for unexpected spellings. */
export const listItemLengthMax = 512;
export const hostsMax = 10_000;

/** The maximum length of domains and hosts, in DNS and in `status.domain`. */
const hostLengthMax = 253;
/** A name in any script, an address, a port: no control characters, invisible marks or whitespace that a terminal could interpret. */
const hostPattern = /^[-\p{L}\p{M}\p{N}_.:*[\]]+$/u;
/** The fast path for nearly all hosts: V8 takes tens of milliseconds to compile a pattern with Unicode classes. */
const asciiHostPattern = /^[-\w.:*[\]]+$/;

function isHost(text: string): boolean {
  return asciiHostPattern.test(text) || hostPattern.test(text);
}

const host = z.string().max(hostLengthMax).refine(isHost, "is not a host");
const domain = host;

/** `origin` is documented as one host. If it is a list, its first host is the primary. */
export const originsAnswer = z
  .object({ success: z.literal(true), domain, origin: z.union([host, z.array(host).min(1).max(hostsMax)]) })
  .transform(({ domain, origin }): OriginsRead => ({
    domain,
    primary: (typeof origin === "string" ? origin : origin[0]) ?? "",
  }));

/** The fast path for nearly all entries. */
const plainItem = /^[\x20-\x7e]*$/;

/** A plain array. Its items are validated without zod, so that a long list of invalid items results in one issue and not a million. */
export const listAnswer = z
  .array(z.unknown())
  .max(listLengthMax)
  .transform((items, context): readonly string[] => {
    const position = items.findIndex((item) => itemProblem(item) !== undefined);
    if (position < 0) return items as readonly string[];
    const message = itemProblem(items[position]);
    context.addIssue({ code: "custom", path: [position], message, input: undefined });
    return z.NEVER;
  });

/** Whitespace around an entry is a spelling variant; invisible characters inside an entry could hide a part of a plan. */
function itemProblem(item: unknown): string | undefined {
  if (typeof item !== "string" || item.length > listItemLengthMax)
    return `is not a string of at most ${listItemLengthMax} characters`;
  if (plainItem.test(item)) return undefined;
  return visibleText(item.trim()) === item.trim() ? undefined : "contains an invisible character";
}

export const writeAnswer = z
  .object({ success: z.literal(true), domain, message: z.string().optional() })
  .transform(({ domain, message }): WriteAccepted => ({ domain, message: message ?? "" }));

export const failureAnswer = z.object({ success: z.literal(false), message: z.string() });

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/**
 * Parses the text of a body with `schema`. `problem` describes the first fault and contains no part of the body.
 * @param parse returns the value of the text, or throws
 */
export function parseAnswer<T>(schema: z.ZodType<T>, text: string): Parsed<T> {
  const json = parseJson(text);
  if (!json.ok) return json;
  const parsed = schema.safeParse(json.value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issue = parsed.error.issues[0];
  const path = issue === undefined || issue.path.length === 0 ? "the body" : issue.path.join(".");
  return { ok: false, problem: `${path}: ${issue?.message ?? "has another shape"}` };
}

export function parseJson(text: string): Parsed<unknown> {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false, problem: text.trimStart().startsWith("<") ? "it is an HTML page" : "it is not JSON" };
  }
}
