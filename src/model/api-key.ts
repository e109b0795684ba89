// The secret of one WAF. Only `reveal` returns it, so nothing prints it by accident.
// In strings of others, redactor.ts finds it. A key of four to seven characters is redacted only where it is a separate word: inside longer
// words it can't be recognized, and replacing it would reveal it. Keys of fewer than four characters are refused by `validateApiKey`.
import { createHmac } from "node:crypto";
import { inspect } from "node:util";
import { hexDigest } from "./hex-digest.ts";
import { redactedKey } from "./redactor.ts";

export const apiKeyLengthMin = 4;
export const apiKeyLengthMax = 1024;

export class ApiKey {
  readonly #text: string;
  #fingerprint: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** The key itself, only for the place that puts it into a request. */
  reveal(): string {
    return this.#text;
  }

  /**
   * Equal for equal keys, for comparisons and indexes. Never print it: a weak key could be guessed from it.
   * 32 hexadecimal digits of SHA-256.
   */
  fingerprint(): string {
    return (this.#fingerprint ??= hexDigest(`wafsync api key\0${this.#text}`, 32));
  }

  /**
   * Identifies the key in a record without making it guessable: too short to confirm a guess, and different for each domain. 10
   * hexadecimal digits of HMAC-SHA-256.
   */
  markFor(domain: string): string {
    const message = `wafsync record\0${domain.toLowerCase()}`;
    return createHmac("sha256", this.#text).update(message).digest("hex").slice(0, 10);
  }

  toString(): string {
    return redactedKey;
  }

  toJSON(): string {
    return redactedKey;
  }

  [inspect.custom](): string {
    return redactedKey;
  }
}

export type ValidatedApiKey =
  | { readonly ok: true; readonly key: ApiKey }
  | { readonly ok: false; readonly problem: string };

/**
 * Validates a key that comes from a user or a Secret. One line break at the end is dropped, since `echo key | base64` adds one; any
 * other whitespace, control character or invisible character is refused rather than dropped. `problem` completes "the API key …"
 * and contains no part of the key.
 */
export function validateApiKey(text: string): ValidatedApiKey {
  const trimmed = text.replace(/\r?\n$/, "");
  const problem = apiKeyProblem(trimmed);
  return problem === undefined ? { ok: true, key: new ApiKey(trimmed) } : { ok: false, problem };
}

/** Printable ASCII without whitespace: matches nearly all keys without a Unicode pattern, which V8 compiles slowly. */
const plainKey = /^[!-~]+$/;

function apiKeyProblem(text: string): string | undefined {
  if (text.trim() === "") return "is empty";
  if (/\s/.test(text))
    return "contains whitespace: it must be only the key, on one line (printf instead of echo helps)";
  // Bytes that are not UTF-8 are decoded to lone surrogates or replacement characters.
  if (!plainKey.test(text) && /[\p{C}\p{Z}\uFFFD]/u.test(text))
    return "contains a control character, an invisible character or bytes that are not UTF-8: copy it again as plain text";
  const { length } = text;
  if (length < apiKeyLengthMin)
    return `is too short: it has ${length} characters, and at least ${apiKeyLengthMin} are needed`;
  if (length > apiKeyLengthMax)
    return `is too long: it has ${length} characters, and at most ${apiKeyLengthMax} are allowed`;
  return undefined;
}

/** In characters. Servers reject longer headers, and a search for a longer secret would delay all work. */
export const headerValueLengthMax = 8_192;
/** Only the longest parts are searched; the others are redacted as part of the whole value. */
const secretsMax = 16;
/** Shorter parts are words such as `Bearer`, or too short to help guess the rest. */
const partLengthMin = 8;
const separators = /[\s,;"]+/u;
const basic = /^basic +(?<credentials>[a-z\d+/=_-]+)$/iu;

/**
 * The parts of a header's value that must not be shown: the value, the token or password in it, and long parts of these, since a
 * server may echo any of them separately.
 *
 * @param value at most `headerValueLengthMax` characters
 */
export function secretsIn(value: string): readonly string[] {
  const credentials = basic.exec(value)?.groups?.["credentials"];
  const decoded = credentials === undefined ? "" : Buffer.from(credentials, "base64").toString("utf8");
  const password = decoded.slice(decoded.indexOf(":") + 1);
  const afterScheme = value.slice(value.indexOf(" ") + 1);
  const parts = [afterScheme, ...value.split(separators), decoded, password];
  const secrets = [value, ...parts.filter(({ length }) => length >= partLengthMin)];
  const distinct = [...new Set(secrets)].filter(({ length }) => length >= apiKeyLengthMin);
  return distinct.length <= secretsMax
    ? distinct
    : distinct.toSorted((one, other) => other.length - one.length).slice(0, secretsMax);
}
