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

/** With more secrets, a string is searched only for those whose last characters it contains. */
const secretsSearchedMax = 8;

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
  /** For many secrets, by the hash of the last characters. */
  #byEnd: Map<number, Needle[]> | undefined;
  /** For few secrets, because hardly any text contains one. */
  #filter: RegExp | undefined;

  constructor(secrets: readonly string[] = []) {
    for (const secret of secrets) this.add(secret);
  }

  add(secret: string): void {
    if (secret === "" || this.#needles.has(secret)) return;
    const needles = needlesOf(secret);
    this.#needles.set(secret, needles);
    this.#filter = undefined;
    if (this.#byEnd !== undefined) addByEnd(this.#byEnd, needles);
  }

  delete(secret: string): void {
    this.#needles.delete(secret);
    this.#filter = undefined;
    this.#byEnd = undefined;
  }

  /** @param lengthMin shorter secrets are ignored */
  occursIn(text: string, lengthMin = 0): boolean {
    return this.#find(text, lengthMin).length > 0;
  }

  /** The string with all secrets replaced. A secret that contains another one is replaced as a whole. */
  redact(text: string): string {
    let redacted = "";
    let done = 0;
    for (const { start, end } of this.#find(text, 0).sort((one, other) => one.start - other.start)) {
      if (start >= done) redacted += text.slice(done, start) + redactedKey;
      done = Math.max(done, end);
    }
    return redacted + text.slice(done);
  }

  /** The ranges with secrets; they may overlap. */
  #find(text: string, lengthMin: number): TextRange[] {
    const ranges: TextRange[] = [];
    let folded: string | undefined;
    for (const { secret, wanted, isBase64 } of this.#candidates(text)) {
      if (secret.length < lengthMin) continue;
      const searched = isBase64 ? text : (folded ??= inLowerCase(text));
      for (let at = searched.indexOf(wanted); at !== -1; at = searched.indexOf(wanted, at + 1)) {
        const range = { start: at, end: at + wanted.length };
        if (isBase64 || secret.length >= distinctiveLengthMin || isWord(text, range)) ranges.push(range);
      }
    }
    return ranges;
  }

  /** The spellings that may occur in the text: of many secrets, those whose last four characters do. */
  #candidates(text: string): Iterable<Needle> {
    if (this.#needles.size <= secretsSearchedMax) {
      this.#filter ??= filterFor(this.#all());
      return this.#filter.test(text) ? this.#all() : [];
    }
    const byEnd = (this.#byEnd ??= addByEnd(new Map(), this.#all()));
    const candidates = new Set<Needle>();
    // Hardly any text contains the end of a needle, so this allocates nothing for each character.
    for (let at = 0, end = 0; at < text.length; at += 1) {
      end = nextEnd(end, text, at);
      const needles = byEnd.get(end);
      if (needles !== undefined) for (const needle of needles) candidates.add(needle);
    }
    return candidates;
  }

  #all(): readonly Needle[] {
    return [...this.#needles.values()].flat();
  }
}

function addByEnd(byEnd: Map<number, Needle[]>, needles: readonly Needle[]): Map<number, Needle[]> {
  for (const needle of needles) {
    let end = 0;
    for (let at = 0; at < needle.wanted.length; at += 1) end = nextEnd(end, needle.wanted, at);
    const known = byEnd.get(end);
    if (known === undefined) byEnd.set(end, [needle]);
    else known.push(needle);
  }
  return byEnd;
}

/** The hash of the last four characters, after one more: earlier ones are shifted out. */
function nextEnd(end: number, text: string, at: number): number {
  return ((end << 5) ^ lowerCodeAt(text, at)) & 0xf_ffff;
}

function lowerCodeAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 65 && code <= 90 ? code + 32 : code;
}

/**
 * Matches every text that a needle occurs in, and hardly any other: by the first characters alone, because an expression of long secrets
 * would take long to compile, and in any letter case.
 */
function filterFor(needles: readonly Needle[]): RegExp {
  const starts = new Set(needles.map(({ wanted }) => inLowerCase(wanted.slice(0, distinctiveLengthMin))));
  // With the flag `i`, V8 misses alternatives next to one that starts with a Kelvin sign.
  const inAnyCase = (start: string): string =>
    start.replaceAll(/\W/g, String.raw`\$&`).replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
  return new RegExp([...starts].map(inAnyCase).join("|"));
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
export function excerpt(text: string, lengthMax = excerptLengthMax): string {
  return text.length <= lengthMax ? text : text.slice(0, lengthMax).replace(/\S*$/u, "…");
}

export class Redactor {
  /** The secrets of each namespace, the least recently added first. */
  readonly #known = new Map<string, Set<string>>();
  readonly #search = new SecretSearch();

  /**
   * Redacts the key from now on. Adding it again keeps it from being dropped.
   *
   * @param namespace omit it for keys of the user who runs the command
   */
  add(key: { reveal(): string }, namespace = ""): void {
    const secret = key.reveal();
    const known = this.#known.get(namespace) ?? new Set();
    this.#known.set(namespace, known);
    known.delete(secret);
    known.add(secret);
    this.#search.add(secret);
    const [oldest] = known.size > keysOfNamespaceMax ? known : [];
    if (oldest === undefined) return;
    known.delete(oldest);
    const isKnown = [...this.#known.values()].some((others) => others.has(oldest));
    if (!isKnown) this.#search.delete(oldest);
  }

  /** The string without any of the keys. */
  redact(text: string): string {
    return this.#search.redact(text);
  }
}
