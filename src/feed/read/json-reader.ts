// Reads the values that a JSONPath (RFC 9535) selects. The complete document is kept until it is parsed, because a path can refer
// to all of it; JsonLimits limits its size in memory.
import { isUtf8 } from "node:buffer";
import type { JsonFormat } from "../../model/declared-feed.ts";
import type { EntryCollector } from "./entry-collector.ts";
import { JsonLimits } from "./json-limits.ts";
import { type JsonPath, compileJsonPath } from "./json-path.ts";
import type { ReadFault } from "./read-fault.ts";

type Value = Parameters<JsonPath["query"]>[0];

/** Adds the selected values to the collector. Returns a fault if the document is not JSON or the path fails. */
export async function readJson(
  chunks: AsyncIterable<Buffer>,
  { path }: JsonFormat,
  collector: EntryCollector,
): Promise<ReadFault | undefined> {
  const compiled = compileJsonPath(path);
  if (!compiled.ok) return fault(`spec.http.json.path ${compiled.problem}`);
  const limits = new JsonLimits();
  const kept: Buffer[] = [];
  for await (const chunk of chunks) {
    const excess = limits.write(chunk);
    if (excess !== undefined) return fault(`The response ${excess}`);
    kept.push(chunk);
  }
  const parsed = parseJson(Buffer.concat(kept));
  if (!parsed.ok) return fault("The response is not JSON");
  try {
    collect(compiled.path, parsed.value, collector);
  } catch {
    return fault("spec.http.json.path is too complex for this document: write a simpler path");
  }
  return undefined;
}

function collect(path: JsonPath, value: Value, collector: EntryCollector): void {
  let place = 0;
  for (const node of path.lazyQuery(value)) {
    place += 1;
    if (typeof node.value === "string") collector.addText(node.value, place);
    else collector.addInvalid(nameOf(node.value), "the path selects a value that is not a string", place);
    if (collector.isFull) return;
  }
}

function nameOf(value: Value): string {
  if (Array.isArray(value)) return "[…]";
  return typeof value === "object" && value !== null ? "{…}" : JSON.stringify(value);
}

function parseJson(bytes: Buffer): { readonly ok: true; readonly value: Value } | { readonly ok: false } {
  if (!isUtf8(bytes)) return { ok: false };
  try {
    return { ok: true, value: JSON.parse(bytes.toString("utf8").replace(/^\uFEFF/u, "")) as Value };
  } catch {
    return { ok: false };
  }
}

function fault(message: string): ReadFault {
  return { code: "NotInFormat", message: `${message}.` };
}
