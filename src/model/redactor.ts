// Removes secrets from strings before these leave the process: as they are, and as programs usually encode them. The redactor knows all
// keys of the process, including former ones. No namespace can displace the keys of others: only the newest keys of each are known.

/** Replaces a redacted secret. */
export const redactedKey = "[api key]";
/** A shorter secret is only found as a separate word, so that `test` does not match `latest`. */
export const distinctiveLengthMin = 8;
/** External strings are truncated to so many characters before they are redacted and shown. */
export const excerptLengthMax = 200;
/** The keys of one namespace; those that were not added for the longest time are dropped first. */
export const keysOfNamespaceMax = 2000;

/** With more secrets, a string is searched only for those whose last few characters it contains. */
const secretsSearchedMax = 8;
const endLength = 4;

const form = (text: string): string => new URLSearchParams({ k: text }).toString().slice(2);
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const inAscii = (text: string): string =>
  text.replaceAll(/[^]/g, (unit) =>
    unit > "\u007e" ? String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}` : unit,
  );
const html = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** How programs encode a string in URLs, JSON and HTML. A string without special characters stays as it is. */
const encodings: readonly ((text: string) => string)[] = [
  (text) => text,
  encodeURIComponent,
  encodeURI,
  form,
  (text) => text.replaceAll("+", " "),
  json,
  // As a document quotes a document.
  (text) => json(json(text)),
  (text) => inAscii(json(text)),
  (text) => json(text).replaceAll("/", String.raw`\/`),
  (text) => inAscii(json(text)).replaceAll("/", String.raw`\/`),
  html,
  (text) => html(text).replaceAll("'", "&#39;"),
  (text) => html(text).replaceAll("'", "&#x27;").replaceAll("/", "&#x2f;"),
];

/** A spelling of a secret. */
interface Needle {
  readonly secret: string;
  readonly wanted: string;
  readonly isBase64: boolean;
}

/** A range of a string; the end is exclusive. */
interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Finds secrets in strings, in every spelling. */
export class SecretSearch {
  readonly #needles = new Map<string, readonly Needle[]>();
  readonly #byEnd = new Map<string, Set<Needle>>();
  /** For few secrets, because hardly any text contains one. */
  #filter: NeedleFilter | undefined;

  constructor(secrets: readonly string[] = []) {
    for (const secret of secrets) this.add(secret);
  }

  add(secret: string): void {
    if (secret === "" || this.#needles.has(secret)) return;
    const needles = needlesOf(secret);
    this.#needles.set(secret, needles);
    this.#filter = undefined;
    for (const needle of needles) {
      const end = needle.wanted.slice(-endLength);
      this.#byEnd.set(end, (this.#byEnd.get(end) ?? new Set<Needle>()).add(needle));
    }
  }

  delete(secret: string): void {
    for (const needle of this.#needles.get(secret) ?? []) {
      const end = needle.wanted.slice(-endLength);
      const needles = this.#byEnd.get(end);
      needles?.delete(needle);
      if (needles?.size === 0) this.#byEnd.delete(end);
    }
    this.#needles.delete(secret);
    this.#filter = undefined;
  }

  /** @param lengthMin shorter secrets are ignored */
  occursIn(text: string, lengthMin = 0): boolean {
    return this.#find(text, lengthMin).next().done !== true;
  }

  /** The string with all secrets replaced. A secret that contains another one is replaced as a whole. */
  redact(text: string): string {
    let redacted = "";
    let done = 0;
    for (const { start, end } of [...this.#find(text, 0)].sort((one, other) => one.start - other.start)) {
      if (start >= done) redacted += text.slice(done, start) + redactedKey;
      done = Math.max(done, end);
    }
    return redacted + text.slice(done);
  }

  /** The ranges with secrets; they may overlap. */
  *#find(text: string, lengthMin: number): Generator<TextRange, void> {
    if (this.#needles.size <= secretsSearchedMax) {
      this.#filter ??= new NeedleFilter([...this.#needles.values()].flat());
      if (!this.#filter.mayOccurIn(text)) return;
    }
    const folded = inLowerCase(text);
    for (const { secret, wanted, isBase64 } of this.#candidates(text, folded)) {
      if (secret.length < lengthMin) continue;
      const searched = isBase64 ? text : folded;
      for (let at = searched.indexOf(wanted); at !== -1; at = searched.indexOf(wanted, at + 1)) {
        const range = { start: at, end: at + wanted.length };
        if (isBase64 || secret.length >= distinctiveLengthMin || isWord(text, range)) yield range;
      }
    }
  }

  #candidates(text: string, folded: string): Iterable<Needle> {
    if (this.#needles.size <= secretsSearchedMax) return [...this.#needles.values()].flat();
    const candidates = new Set<Needle>();
    for (const searched of new Set([text, folded])) {
      for (let at = 0; at + endLength <= searched.length; at += 1) {
        for (const needle of this.#byEnd.get(searched.slice(at, at + endLength)) ?? []) candidates.add(needle);
      }
    }
    return candidates;
  }
}

/**
 * Compares as few characters of a text as possible: of each window with the length of the shortest needle, only the last pair, unless
 * a needle contains it (Wu and Manber, 1994).
 */
class NeedleFilter {
  readonly #length: number;
  /** How far the window moves after a pair; 0 if a needle may end with it. */
  readonly #shifts = new Uint8Array(4096);
  readonly #needles: readonly Needle[];

  constructor(needles: readonly Needle[]) {
    this.#needles = needles;
    this.#length = Math.min(200, ...needles.map(({ wanted }) => wanted.length));
    this.#shifts.fill(Math.max(0, this.#length - 1));
    for (const { wanted, isBase64 } of needles) {
      for (let end = 1; end < this.#length; end += 1) {
        for (const first of codesOf(wanted.charAt(end - 1), isBase64)) {
          for (const second of codesOf(wanted.charAt(end), isBase64)) {
            const pair = pairOf(first, second);
            this.#shifts[pair] = Math.min(this.#shifts[pair] ?? 0, this.#length - 1 - end);
          }
        }
      }
    }
  }

  mayOccurIn(text: string): boolean {
    const last = this.#length - 1;
    const shifts = this.#shifts;
    if (last < 1) return true;
    for (let end = last; end < text.length;) {
      const shift = shifts[pairOf(text.charCodeAt(end - 1), text.charCodeAt(end))] ?? 0;
      if (shift === 0 && this.#isStart(text.slice(end - last, end + 1))) return true;
      // Most shifts are the largest one: with this branch, a processor need not wait for the shift.
      if (shift === last) end += last;
      else end += Math.max(1, shift);
    }
    return false;
  }

  #isStart(window: string): boolean {
    const folded = inLowerCase(window);
    return this.#needles.some(({ wanted, isBase64 }) => wanted.startsWith(isBase64 ? window : folded));
  }
}

function codesOf(letter: string, isBase64: boolean): readonly number[] {
  return [letter, ...(isBase64 ? [] : [letter.toUpperCase()])].map((one) => one.charCodeAt(0));
}

/** Some pairs share a number. */
function pairOf(first: number, second: number): number {
  return ((first << 5) ^ second) & 4095;
}

function needlesOf(secret: string): readonly Needle[] {
  const plain = encodings.map((encode) => inLowerCase(encode(secret.toWellFormed())));
  const base64 = [0, 1, 2].flatMap((offset) => {
    // The secret may start at any byte of the encoded data. These are the digits that only depend on the secret.
    const padded = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const [first, last] = [Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6)];
    const digits = padded.toString("base64").slice(first, last);
    return [digits, digits.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [
    ...[...new Set(plain)].map((wanted) => ({ secret, wanted, isBase64: false })),
    ...[...new Set(base64)].map((wanted) => ({ secret, wanted, isBase64: true })),
  ];
}

/** Only ASCII letters are converted, so that no position changes. */
function inLowerCase(text: string): string {
  return /\P{ASCII}/u.test(text) ? text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text.toLowerCase();
}

/** Whether no letter or digit continues the first or the last character. */
function isWord(text: string, { start, end }: TextRange): boolean {
  const isJoined = (at: number): boolean => /^[\p{L}\p{N}]{2}$/u.test(text.slice(Math.max(0, at - 1), at + 1));
  return !isJoined(start) && !isJoined(end);
}

/** The beginning of an external string, truncated between two words: a part of a key would not be recognized. */
export function excerpt(text: string): string {
  return text.length <= excerptLengthMax ? text : text.slice(0, excerptLengthMax).replace(/\S*$/u, "…");
}

export class Redactor {
  /** The secrets of each namespace by fingerprint, the least recently added first. */
  readonly #known = new Map<string, Map<string, string>>();
  readonly #search = new SecretSearch();

  /**
   * Redacts the key from now on. Adding it again keeps it from being dropped.
   *
   * @param namespace omit it for keys of the user who runs the command
   */
  add(key: { fingerprint(): string; reveal(): string }, namespace = ""): void {
    const known = this.#known.get(namespace) ?? new Map<string, string>();
    this.#known.set(namespace, known);
    const fingerprint = key.fingerprint();
    known.delete(fingerprint);
    known.set(fingerprint, key.reveal());
    this.#search.add(key.reveal());
    const [oldest] = known.size > keysOfNamespaceMax ? known : [];
    if (oldest === undefined) return;
    known.delete(oldest[0]);
    const isKnown = [...this.#known.values()].some((others) => others.has(oldest[0]));
    if (!isKnown) this.#search.delete(oldest[1]);
  }

  /** The string without any of the keys. */
  redact(text: string): string {
    return this.#search.redact(text);
  }
}
