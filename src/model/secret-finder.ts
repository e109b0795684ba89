// Finds a secret in a text, in every spelling in which a server may repeat it, in any letter case, and in base64 at any of its
// three alignments.
import { fullyEscaped, spellingsOf } from "./spellings.ts";

/** A secret of fewer characters is looked for as a word of its own, so that `test` leaves `latest` alone. */
export const distinctiveLengthMin = 8;
/** A secret of fewer characters is not looked for in base64: three letters of base64 are in every other word. */
const base64LengthMin = 4;

const letterOrDigit = /^[\p{L}\p{N}]$/u;

export interface SecretFinder {
  occursIn(text: string): boolean;
  /** The text with every occurrence replaced. */
  replaceIn(text: string, by: string): string;
}

/** A pattern, and letters without which it cannot match: plain search is many times faster than the pattern. */
interface Search {
  readonly pattern: RegExp;
  mayMatch(text: string): boolean;
}

/** What finds `secret` in a text: nothing if the secret is empty. */
export function createSecretFinder(secret: string): SecretFinder {
  const searches = secret === "" ? [] : [spelledSearch(secret), escapedSearch(secret)];
  if (secret.length >= base64LengthMin) searches.push(...base64Searches(secret));
  const occurs = (search: Search, text: string): boolean => search.mayMatch(text) && text.search(search.pattern) >= 0;
  return {
    occursIn: (text) => searches.some((search) => occurs(search, text)),
    replaceIn: (text, by) =>
      searches.reduce((rest, search) => (search.mayMatch(rest) ? rest.replace(search.pattern, () => by) : rest), text),
  };
}

function spelledSearch(secret: string): Search {
  const pattern = new RegExp(bounded(secret, anyOf(spellingsOf(secret))), "giu");
  const hint = new RegExp(longestRun(secret), "iu");
  return { pattern, mayMatch: (text) => hint.test(text) };
}

function escapedSearch(secret: string): Search {
  const pattern = new RegExp(anyOf(fullyEscaped(secret)), "gi");
  return { pattern, mayMatch: (text) => /[%\\&]/.test(text) };
}

function anyOf(texts: readonly string[]): string {
  return `(?:${texts.map((text) => text.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`)).join("|")})`;
}

/** The longest part of ASCII letters and digits, which stays as it is in every spelling. */
function longestRun(text: string): string {
  return text.split(/[^A-Za-z0-9]+/).reduce((longest, run) => (run.length > longest.length ? run : longest), "");
}

/** A short secret counts only where no letter or digit touches it; the tail of an escape such as `%20` is none. */
function bounded(secret: string, pattern: string): string {
  if (secret.length >= distinctiveLengthMin) return pattern;
  const characters = Array.from(secret);
  const escapeBefore = String.raw`(?<=%[0-9a-f]{2}|\\u[0-9a-f]{4}|\\[bfnrt])`;
  const before = letterOrDigit.test(characters[0] ?? "") ? String.raw`(?:(?<![\p{L}\p{N}])|${escapeBefore})` : "";
  const after = letterOrDigit.test(characters.at(-1) ?? "") ? String.raw`(?![\p{L}\p{N}])` : "";
  return `${before}${pattern}${after}`;
}

/** The secret may start at any byte of what was encoded: for each of the three alignments, the part that never varies. */
function base64Searches(secret: string): readonly Search[] {
  const bytes = Buffer.from(secret, "utf8");
  const anyDigit = "[A-Za-z0-9+/_-]?";
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    const start = offset === 0 ? 0 : offset + 1;
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    const fixed = encoded.slice(start, end);
    const digits = fixed.replaceAll(/[+/]/g, base64Variants);
    const hint = longestRun(fixed);
    return {
      pattern: new RegExp(`${start === 0 ? "" : anyDigit}${digits}${anyDigit}(?:=|%3[dD]){0,2}`, "gu"),
      mayMatch: (text) => text.includes(hint),
    };
  });
}

function base64Variants(digit: string): string {
  return digit === "+" ? String.raw`(?:[+\-]|%2[bB])` : String.raw`(?:\\{0,4}\/|_|%2[fF])`;
}
