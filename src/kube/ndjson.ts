// Reads one JSON value per line from a stream of bytes. Lines are split at the byte level, so a character that is divided
// between two chunks stays intact. A malformed line is a fault and never skipped: its content would be lost.

import { TextDecoder } from "node:util";

export const lineBytesMaxDefault = 8 * 1024 * 1024;

export const ndjsonFaultCodes = ["LineTooLong", "BadEncoding", "BadJson", "PartialLine"] as const;
export type NdjsonFaultCode = (typeof ndjsonFaultCodes)[number];

export interface NdjsonBatch {
  /** The values of the lines that this chunk completed, in order, up to the fault, if any. */
  readonly values: readonly unknown[];
  /** After a fault the reader cannot be used any longer. */
  readonly fault?: NdjsonFaultCode;
}

export interface NdjsonReader {
  /** Takes the next bytes. */
  push(chunk: Uint8Array): NdjsonBatch;
  /** Whether the stream ended at the end of a line. */
  finish(): NdjsonBatch;
}

const newline = 0x0a;

/** Holds at most `lineBytesMax` bytes and the current chunk. Ignores empty lines. */
export function createNdjsonReader(lineBytesMax = lineBytesMaxDefault): NdjsonReader {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let parts: Uint8Array[] = [];
  let partialBytes = 0;

  function hold(part: Uint8Array): boolean {
    partialBytes += part.length;
    if (partialBytes > lineBytesMax) return false;
    if (part.length > 0) parts.push(part);
    return true;
  }

  function takeLine(): Uint8Array {
    const [first] = parts;
    const line = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
    parts = [];
    partialBytes = 0;
    return line;
  }

  function push(chunk: Uint8Array): NdjsonBatch {
    const values: unknown[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      if (!hold(chunk.subarray(start, end))) return { values, fault: "LineTooLong" };
      const fault = parseInto(values, takeLine(), decoder);
      if (fault !== undefined) return { values, fault };
      start = end + 1;
    }
    return hold(chunk.subarray(start)) ? { values } : { values, fault: "LineTooLong" };
  }

  return { push, finish: () => (partialBytes === 0 ? { values: [] } : { values: [], fault: "PartialLine" }) };
}

function parseInto(values: unknown[], line: Uint8Array, decoder: TextDecoder): NdjsonFaultCode | undefined {
  let text: string;
  try {
    text = decoder.decode(line);
  } catch {
    return "BadEncoding";
  }
  if (text.trim() === "") return undefined;
  try {
    values.push(JSON.parse(text));
    return undefined;
  } catch {
    return "BadJson";
  }
}
