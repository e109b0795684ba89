// Validates JSONPaths: accepts only paths of RFC 9535 with linear cost. The author of a feed chooses the path, and some paths
// take extremely long even on small documents.
import { jsonpath } from "json-p3";

export type JsonPath = ReturnType<typeof jsonpath.compile>;

export type CompiledPath =
  | { readonly ok: true; readonly path: JsonPath }
  /** The predicate of a sentence with the path as its subject. */
  | { readonly ok: false; readonly problem: string };

export const pathLengthMax = 256;
/** The maximum number of names or positions in one list, such as `['ipv4Prefix','ipv6Prefix']`. */
const listedMax = 16;

const strings = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/gu;

export function compileJsonPath(text: string): CompiledPath {
  const problem = objectionTo(text);
  if (problem !== undefined) return { ok: false, problem };
  try {
    return { ok: true, path: jsonpath.compile(text) };
  } catch {
    return { ok: false, problem: "is not a JSONPath as RFC 9535 defines it" };
  }
}

function objectionTo(text: string): string | undefined {
  if (text.length > pathLengthMax) return `has more than ${pathLengthMax} characters`;
  const bare = text.replaceAll(strings, "s");
  if (bare.split("..").length > 2) return "uses .. more than once";
  if (bare.split("$").length > 2) return "uses $ in a filter";
  if (bare.includes("(")) return "uses a function or parentheses";
  const lists = bare.match(/\[[^[\]]*,[^[\]]*\]/gu) ?? [];
  const commas = bare.split(",").length - 1;
  if (lists.length > 1 || commas > (lists[0]?.split(",").length ?? 1) - 1) return "uses more than one list in brackets";
  return commas >= listedMax ? `lists more than ${listedMax} names` : undefined;
}
