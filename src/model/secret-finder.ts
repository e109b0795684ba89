// How a secret may look in a text: character by character plain, percent-encoded (once or many times over), as form data,
// escaped in JSON or HTML, in any letter case and any mix of these; and as base64 at any of its three alignments.
// The patterns are built so that no text makes them backtrack without bound.

/** A secret of fewer characters is looked for as a word of its own, so that `test` leaves `latest` alone. */
export const distinctiveLengthMin = 8;
/** A secret of fewer characters is not looked for in base64: three letters of base64 are in every other word. */
const base64LengthMin = 4;

const htmlNames: ReadonlyMap<string, string> = new Map([
  ["&", "amp"],
  ["<", "lt"],
  [">", "gt"],
  ['"', "quot"],
  ["'", "apos"],
]);
const jsonNames: ReadonlyMap<string, string> = new Map([
  ["\b", "b"],
  ["\f", "f"],
  ["\n", "n"],
  ["\r", "r"],
  ["\t", "t"],
]);

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
  const searches = secret === "" ? [] : [encodedSearch(secret)];
  if (secret.length >= base64LengthMin) searches.push(...base64Searches(secret));
  const occurs = (search: Search, text: string): boolean => search.mayMatch(text) && text.search(search.pattern) >= 0;
  return {
    occursIn: (text) => searches.some((search) => occurs(search, text)),
    replaceIn: (text, by) =>
      searches.reduce((rest, search) => (search.mayMatch(rest) ? rest.replace(search.pattern, () => by) : rest), text),
  };
}

/** A letter or digit written as an escape, and only that: texts full of `%27` are usual, and the pattern is slow on them. */
const escapedLettersAndDigits = [
  { start: String.raw`\u00`, escape: /\\u00(?:3\d|[46][1-9a-f]|[57][\da])/iy },
  { start: String.raw`\U00`, escape: /\\u00(?:3\d|[46][1-9a-f]|[57][\da])/iy },
  { start: "&", escape: /&(?:amp;)*#/iy },
];
const percentEscape = /%(?:25)*(?:3\d|[46][1-9a-f]|[57][\da])/iy;

function hasEscapedLetterOrDigit(text: string): boolean {
  if (hasPercentEscape(text)) return true;
  return escapedLettersAndDigits.some(({ start, escape }) => {
    for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
      escape.lastIndex = at;
      if (escape.test(text)) return true;
    }
    return false;
  });
}

/** There may be thousands of them, so most are passed over by the character that follows. */
function hasPercentEscape(text: string): boolean {
  for (let at = text.indexOf("%"); at >= 0; at = text.indexOf("%", at + 1)) {
    const next = text.charCodeAt(at + 1) - 0x30;
    const isCandidate = next === 2 ? text.charCodeAt(at + 2) === 0x35 : next >= 3 && next <= 7;
    if (!isCandidate) continue;
    percentEscape.lastIndex = at;
    if (percentEscape.test(text)) return true;
  }
  return false;
}

function encodedSearch(secret: string): Search {
  const pattern = new RegExp(bounded(secret, encodedPattern(secret)), "giu");
  const hint = new RegExp(longestRun(secret), "iu");
  return { pattern, mayMatch: (text) => hint.test(text) || hasEscapedLetterOrDigit(text) };
}

/** The longest part of ASCII letters and digits, which only an escape could hide. */
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

/**
 * Backslashes are what escaping multiplies, so a run of them is matched as a whole, however long it became, and together with
 * the character after it. A run that opens the secret is matched from its first backslash on: each has one way to match.
 */
function encodedPattern(secret: string): string {
  let pattern = "";
  let backslashes = 0;
  for (const character of secret) {
    if (character === "\\") {
      backslashes += 1;
      continue;
    }
    pattern += `${backslashRun(backslashes, character, pattern === "")}${characterPattern(character)}`;
    backslashes = 0;
  }
  return pattern + backslashRun(backslashes, "", pattern === "");
}

const backslash = String.raw`(?:\\(?:u005c)?|%(?:25){0,4}5c|&(?:amp;){0,3}#(?:0{0,6}92|x0{0,6}5c);)`;

function backslashRun(count: number, next: string, isFirst: boolean): string {
  if (count > 0) return `${isFirst ? `(?<!${backslash})` : ""}${backslash}{${count},}`;
  return next === "" || letterOrDigit.test(next) ? "" : `${backslash}{0,7}`;
}

function characterPattern(character: string): string {
  const ways = [percentPattern(character), unicodeEscapePattern(character), htmlPattern(character)];
  const jsonName = jsonNames.get(character);
  if (jsonName !== undefined) ways.push(String.raw`\\{1,8}${jsonName}`);
  // A form writes a space as a plus, so one may have become the other.
  if (character === " ") ways.push(String.raw`\+`, percentPattern("+"));
  if (character === "+") ways.push(" ", percentPattern(" "));
  ways.push(literal(character));
  return `(?:${ways.join("|")})`;
}

function literal(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function percentPattern(character: string): string {
  const bytes = [...Buffer.from(character, "utf8")];
  return bytes.map((byte) => `%(?:25){0,4}${byte.toString(16).padStart(2, "0")}`).join("");
}

function unicodeEscapePattern(character: string): string {
  const units = character.split("").map((_, index) => character.charCodeAt(index).toString(16).padStart(4, "0"));
  return units.map((unit) => String.raw`\\{1,8}u${unit}`).join("");
}

function htmlPattern(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  const forms = [`#0{0,6}${codePoint}`, `#x0{0,6}${codePoint.toString(16)}`];
  const name = htmlNames.get(character);
  if (name !== undefined) forms.push(name);
  return `&(?:amp;){0,3}(?:${forms.join("|")});`;
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
