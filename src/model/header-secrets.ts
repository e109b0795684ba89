// What must not be shown of the value of a header: the value, the token or password in it, and long parts of these, since a
// server may repeat any of them alone.
import { apiKeyLengthMin } from "./api-key.ts";

/** Servers reject longer headers, and a search for a longer secret would delay all work. In characters. */
export const headerValueLengthMax = 8_192;
/** The longest parts; the others are in the value as a whole. */
const secretsMax = 16;
/** Shorter parts are words such as `Bearer`, or too little to guess the rest. */
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
