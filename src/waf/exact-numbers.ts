// Parses JSON without changing its numbers: identifiers of 64 bits do not fit into a number of JavaScript. Such a number becomes a raw
// piece of JSON, which JSON.stringify writes as it came. Parsing this way is slow, and only done if the text may have one.

/** Of ECMAScript's "JSON.parse source text access", which all supported versions of Node.js have. */
interface SourceAccess {
  parse(
    text: string,
    reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
}

export interface RawNumber {
  readonly rawJSON: string;
}

const sourceAccess = JSON as unknown as SourceAccess;

/** Numbers of JavaScript are exact up to so many digits. */
const digitsMax = 15;
const mayBeInexact = /[:[,]\s*-?\d(?:[\d.eE+-]{15}|[\d.]*[eE]\+?\d{3})/;

/** @param plain the names of fields that are calculated with, so that they stay plain numbers */
export function parseExactly(text: string, plain: ReadonlySet<string>): unknown {
  if (!mayBeInexact.test(text)) return JSON.parse(text);
  return sourceAccess.parse(text, (name, value, { source = "" }) => {
    return typeof value === "number" && !plain.has(name) && isInexact(value, source)
      ? sourceAccess.rawJSON(source)
      : value;
  });
}

export function isRawNumber(value: unknown): value is RawNumber {
  return sourceAccess.isRawJSON(value);
}

function isInexact(value: number, source: string): boolean {
  return !Number.isFinite(value) || source.replaceAll(/\D/g, "").length > digitsMax;
}
