// Reads the values that a path such as `items[*].ip` selects. The complete document is kept until it is parsed; JsonLimits limits
// its size in memory.
import { isUtf8 } from "node:buffer";
import type { JsonFormat } from "../../model/declared-feed.ts";
import type { EntryCollector } from "./entry-collector.ts";
import { JsonLimits } from "./json-limits.ts";
import type { ReadFault } from "./read-fault.ts";

/** Adds the selected values to the collector. Returns a fault if the document is not JSON. */
export async function readJson(
  chunks: AsyncIterable<Buffer>,
  { path }: JsonFormat,
  collector: EntryCollector,
): Promise<ReadFault | undefined> {
  const limits = new JsonLimits();
  const kept: Buffer[] = [];
  for await (const chunk of chunks) {
    const excess = limits.write(chunk);
    if (excess !== undefined) return fault(`The response ${excess}`);
    kept.push(chunk);
  }
  const parsed = parseJson(Buffer.concat(kept));
  if (!parsed.ok) return fault("The response is not JSON");
  collect(selected(parsed.value, path.replace(/^\$/u, "").match(/\[\*\]|[^.[]+/gu) ?? []), collector);
  return undefined;
}

function collect(values: Iterable<unknown>, collector: EntryCollector): void {
  let place = 0;
  for (const value of values) {
    place += 1;
    if (typeof value === "string") collector.addText(value, place);
    else if (Array.isArray(value)) collector.addInvalid("[…]", "the path selects a list: append [*] to it", place);
    else collector.addInvalid(nameOf(value), "the path selects a value that is not a string", place);
    if (collector.isFull) return;
  }
}

/** The values at the end of the path, in their order. Values without a member of the name are skipped. */
function* selected(value: unknown, [step, ...rest]: readonly string[]): Generator {
  if (step === undefined) yield value;
  else if (typeof value !== "object" || value === null) return;
  else if (step === "[*]") for (const each of Object.values(value)) yield* selected(each, rest);
  else if (!Array.isArray(value) && Object.hasOwn(value, step)) {
    yield* selected((value as Record<string, unknown>)[step], rest);
  }
}

function nameOf(value: unknown): string {
  return typeof value === "object" && value !== null ? "{…}" : JSON.stringify(value);
}

function parseJson(bytes: Buffer): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  if (!isUtf8(bytes)) return { ok: false };
  try {
    return { ok: true, value: JSON.parse(bytes.toString("utf8").replace(/^\uFEFF/u, "")) as unknown };
  } catch {
    return { ok: false };
  }
}

function fault(message: string): ReadFault {
  return { code: "NotInFormat", message: `${message}.` };
}
