// Finds a secret in a string, in every spelling in which a server may echo it, case-insensitively, and in base64 at any of the
// three alignments. Even crafted secrets and strings can't make this slow: there is one linear search per decoded layer.
import { DecodedText, type TextRange, decode, foldCase } from "./decoded-text.ts";
import { LinearSearch } from "./linear-search.ts";

/** A secret of fewer characters is only found as a separate word, so that `test` does not match `latest`. */
export const distinctiveLengthMin = 8;
/** Shorter secrets are not searched for in base64: any three letters appear in base64 by chance. */
const base64LengthMin = 4;
/** How often apparent escapes in the secret itself are decoded. */
const formsMax = 4;
/** The length of the fragment that the fast built-in search looks for first. */
const hintLength = 8;
/** The maximum number of fragments to compare: a tenant may add thousands of long secrets. */
const hintsMax = 512;

const letterOrDigit = /^[\p{L}\p{N}]$/u;
const ascii = /^[\x20-\x7e]$/;
const asciiLetterOrDigit = /^[A-Za-z0-9]$/;
const base64Digit = /^[A-Za-z0-9+/]$/;

/** One spelling to search for in a layer. */
interface Search {
  readonly wanted: string;
  /** A fragment of it, for fast exclusion. */
  readonly hint: string;
  /** The longest fragment of ASCII letters and digits in the secret, in lower case: encoders do not change these. */
  readonly run: string;
  readonly places: LinearSearch;
}

export interface SecretFinder {
  /** A fragment for each spelling without escapes; empty if there is none. */
  readonly runs: readonly string[];
  occursIn(text: DecodedText): boolean;
  /** The ranges of the string that contain the secret; they may overlap. */
  findIn(text: DecodedText): readonly TextRange[];
}

/** Finds `secret` in strings; finds nothing if the secret is empty. */
export function createSecretFinder(secret: string): SecretFinder {
  const plain = formsOf(secret).map((form) => searchFor(foldCase(form), longestRun(form).toLowerCase()));
  const encoded =
    secret.length >= base64LengthMin ? base64Of(secret).map((part) => searchFor(part, longestRun(part))) : [];
  const findIn = function* (text: DecodedText): Generator<TextRange, void> {
    const { plain: outermost, hidesLetters } = text;
    // The fast path for nearly all strings. A secret that looks escaped can lose its letters by decoding.
    const isPossible = (folded: string, { run }: Search): boolean => hidesLetters || folded.includes(run);
    const possible = plain.length > 1 || plain.some((search) => isPossible(outermost.folded, search)) ? plain : [];
    const possiblyEncoded = encoded.filter((search) => isPossible(outermost.text, search));
    if (possible.length + possiblyEncoded.length === 0) return;
    for (const [depth, { text: layer, folded }] of text.layers.entries()) {
      for (const found of plainIn(folded, possible, layer)) yield text.originOf(found, depth);
      for (const found of base64In(layer, possiblyEncoded)) yield text.originOf(found, depth);
    }
  };
  // A secret that looks escaped may appear in decoded form.
  const runs = plain.length > 1 ? [""] : [...plain, ...encoded].map(({ run }) => run);
  return { runs, occursIn: (text) => findIn(text).next().done !== true, findIn: (text) => [...findIn(text)] };
}

/** Replaces the ranges; overlapping or adjacent ones are merged. */
export function replaceRanges(text: string, ranges: readonly TextRange[], by: string): string {
  if (ranges.length === 0) return text;
  let replaced = "";
  let done = 0;
  for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start)) {
    if (start >= done) replaced += text.slice(done, start) + by;
    done = Math.max(done, end);
  }
  return replaced + text.slice(done);
}

/**
 * The secret, and its variants after decoding apparent escapes: an encoder may keep these, and escape the rest.
 */
function formsOf(secret: string): readonly string[] {
  const forms: string[] = [];
  for (let form: string | undefined = secret; form !== undefined && forms.length < formsMax; form = decode(form)) {
    if (form === secret ? secret !== "" : form.length >= distinctiveLengthMin) forms.push(form);
  }
  return forms;
}

function searchFor(wanted: string, run: string): Search {
  return { wanted, hint: hintOf(wanted), run, places: new LinearSearch(wanted) };
}

function longestRun(text: string): string {
  return text.split(/[^A-Za-z0-9]+/).reduce((longest, run) => (run.length > longest.length ? run : longest), "");
}

/** The fragment with the most distinct characters, at the beginning of a long secret. */
function hintOf(text: string): string {
  let best = text.slice(0, hintLength);
  let most = new Set(best).size;
  for (let start = 1; start + hintLength <= text.length && start < hintsMax && most < hintLength; start += 1) {
    const part = text.slice(start, start + hintLength);
    const distinct = new Set(part).size;
    if (distinct <= most) continue;
    best = part;
    most = distinct;
  }
  return best;
}

function* plainIn(folded: string, searches: readonly Search[], layer: string): Generator<TextRange, void> {
  for (const { wanted, hint, places } of searches) {
    if (!folded.includes(hint)) continue;
    const { length } = wanted;
    const found = placesOf(places.in(folded), length);
    for (const range of found) if (length >= distinctiveLengthMin || isWord(layer, range)) yield range;
  }
}

/** Overlapping occurrences are merged, because a repetitive string has one at every position. */
function* placesOf(starts: Iterable<number>, length: number): Generator<TextRange, void> {
  let open: { start: number; end: number } | undefined;
  for (const start of starts) {
    if (open !== undefined && start < open.end) open.end = start + length;
    else {
      if (open !== undefined) yield open;
      open = { start, end: start + length };
    }
  }
  if (open !== undefined) yield open;
}

/** A short secret matches only without an adjacent letter or digit. */
function isWord(text: string, { start, end }: TextRange): boolean {
  return !continues(text, start, -1) && !continues(text, end - 1, 1);
}

/** Whether a letter or digit is adjacent to another one in that direction. */
function continues(text: string, index: number, step: 1 | -1): boolean {
  return isLetterOrDigit(text.charAt(index)) && isLetterOrDigit(text.charAt(index + step));
}

/** Patterns with Unicode classes are used only where needed, because V8 compiles them slowly. */
function isLetterOrDigit(character: string): boolean {
  return ascii.test(character) ? asciiLetterOrDigit.test(character) : letterOrDigit.test(character);
}

/** The secret may start at any byte of the encoded data: for each of the three alignments, the part that never varies. */
function base64Of(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, "utf8");
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    return encoded.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + bytes.length) * 8) / 6));
  });
}

function* base64In(layer: string, searches: readonly Search[]): Generator<TextRange, void> {
  if (searches.length === 0) return;
  // The URL alphabet has different characters for two digits, and forms convert one of them to a space.
  const digits = layer.replaceAll(/[- ]/g, "+").replaceAll("_", "/");
  for (const { wanted, hint, places } of searches) {
    if (!digits.includes(hint)) continue;
    for (const { start: place, end: placeEnd } of placesOf(places.in(digits), wanted.length)) {
      // The adjacent digits also contain bits of it.
      const start = base64Digit.test(layer.charAt(place - 1)) ? place - 1 : place;
      let end = placeEnd;
      if (base64Digit.test(digits.charAt(end)) && layer.charAt(end) !== " ") end += 1;
      while (layer.charAt(end) === "=" && end < placeEnd + 3) end += 1;
      yield { start, end };
    }
  }
}
