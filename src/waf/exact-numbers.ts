// Parses JSON without changing its numbers, because 64-bit identifiers do not fit into a JavaScript number. Such a number becomes
// raw JSON, which JSON.stringify writes unchanged. Parsing this way is slow, so it is done only if the text may contain one.

/** ECMAScript's "JSON.parse source text access", which all supported versions of Node.js have. */
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

/** JavaScript numbers are exact up to this many digits. */
const digitsMax = 15;
const mayBeInexact = /[:[,]\s*-?\d(?:[\d.eE+-]{15}|[\d.]*[eE]\+?\d{3})/;

/** @param plain the names of fields that are used in calculations, and therefore stay plain numbers */
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
