// The parts of a header's value that must not be shown: the value, the token or password in it, and long parts of these, since a
// server may echo any of them separately.
import { apiKeyLengthMin } from "./api-key.ts";

/** In characters. Servers reject longer headers, and a search for a longer secret would delay all work. */
export const headerValueLengthMax = 8_192;
/** Only the longest parts are searched; the others are redacted as part of the whole value. */
const secretsMax = 16;
/** Shorter parts are words such as `Bearer`, or too short to help guess the rest. */
const partLengthMin = 8;
const separators = /[\s,;"]+/u;
const basic = /^basic +(?<credentials>[a-z\d+/=_-]+)$/iu;

/** @param value at most `headerValueLengthMax` characters */
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
