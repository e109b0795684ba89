// What must not be shown of the value of a header: the value, the token or password in it, and long parts of these, since a
// server may repeat any of them alone.
import { apiKeyLengthMin } from "./api-key.ts";

/** Shorter parts are words such as `Bearer`, or too little to guess the rest. */
const partLengthMin = 8;
const separators = /[\s,;"]+/u;
const basic = /^basic +(?<credentials>[a-z\d+/=_-]+)$/iu;

export function secretsIn(value: string): readonly string[] {
  const credentials = basic.exec(value)?.groups?.["credentials"];
  const decoded = credentials === undefined ? "" : Buffer.from(credentials, "base64").toString("utf8");
  const password = decoded.slice(decoded.indexOf(":") + 1);
  const afterScheme = value.slice(value.indexOf(" ") + 1);
  const parts = [afterScheme, ...value.split(separators), decoded, password];
  const secrets = [value, ...parts.filter(({ length }) => length >= partLengthMin)];
  return [...new Set(secrets)].filter(({ length }) => length >= apiKeyLengthMin);
}
