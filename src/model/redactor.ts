// Removes secrets from strings before these leave the process: as they are, percent-encoded, with the escapes of JSON or HTML, in
// hexadecimal and in base64. The redactor knows all keys of the process, including former ones. No owner of keys can displace the
// keys of others: only the newest keys of each owner are known. If there are too many in all, the namespace with the most loses one.

/** Replaces a redacted secret. */
export const redactedKey = "[api key]";
/** A shorter secret is only found as a separate word, so that `test` does not match `latest`. */
export const distinctiveLengthMin = 8;
/** External strings are truncated to so many characters before they are redacted and shown. */
export const excerptLengthMax = 200;
/** The maximum number of keys; those that a namespace has not added for the longest time are dropped first. */
export const redactorKeysMax = 2000;
/** The keys of one owner: the current one and former ones, or the parts of one header. */
export const keysOfOwnerMax = 16;

/** With more secrets, a string is searched only for those whose last few characters it contains. */
const secretsSearchedMax = 8;
const endLength = 4;

const percent = "%u[0-9a-f]{4}|%[0-9a-f]{2}";
const json = String.raw`\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[bfnrt"'/\\]`;
const html = "&#\\d{1,8};|&#x[0-9a-f]{1,8};|&(?:amp|lt|gt|quot|apos);";
const jsonEscapes = new RegExp(json, "gi");
const escapes = [percent, json, html, `${percent}|${json}|${html}`].map((kind) => new RegExp(kind, "gi"));
const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

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

  constructor(secrets: readonly string[] = []) {
    for (const secret of secrets) this.add(secret);
  }

  add(secret: string): void {
    if (secret === "" || this.#needles.has(secret)) return;
    const needles = needlesOf(secret);
    this.#needles.set(secret, needles);
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
    if (this.#needles.size === 0) return;
    yield* this.#findIn(text, lengthMin);
    const seen = new Set([text]);
    for (const kind of escapes) {
      const decoded = text.replaceAll(kind, unescaped);
      if (seen.has(decoded)) continue;
      seen.add(decoded);
      let origins: readonly number[] | undefined;
      for (const { start, end } of this.#findIn(decoded, lengthMin)) {
        origins ??= originsIn(text, kind);
        yield { start: origins[start] ?? 0, end: origins[end] ?? text.length };
      }
    }
  }

  *#findIn(text: string, lengthMin: number): Generator<TextRange, void> {
    const folded = inLowerCase(text);
    for (const { secret, wanted, isBase64 } of this.#candidates(text, folded)) {
      if (secret.length < lengthMin) continue;
      const searched = isBase64 ? text : folded;
      for (let at = searched.indexOf(wanted); at !== -1; at = searched.indexOf(wanted, at + 1)) {
        const range = { start: at, end: at + wanted.length };
        if (isBase64) yield withPartialDigits(text, range);
        else if (secret.length >= distinctiveLengthMin || isWord(text, range)) yield range;
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

function needlesOf(secret: string): readonly Needle[] {
  const bytes = Buffer.from(secret, "utf8");
  const plain = inLowerCase(secret);
  // Each percent-encoded byte is decoded to one character, and forms convert a plus to a space.
  const spellings = [plain, plain.replaceAll("+", " "), inLowerCase(bytes.toString("latin1")), bytes.toString("hex")];
  const encoded = [0, 1, 2].flatMap((offset) => {
    // The secret may start at any byte of the encoded data. These are the digits that only depend on the secret.
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const [first, last] = [Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6)];
    const digits = padded.toString("base64").slice(first, last);
    return [digits, digits.replaceAll("+", "-").replaceAll("/", "_"), digits.replaceAll("+", " ")];
  });
  return [
    ...[...new Set(spellings)].map((wanted) => ({ secret, wanted, isBase64: false })),
    ...[...new Set(encoded)].map((wanted) => ({ secret, wanted, isBase64: true })),
  ];
}

/** Only ASCII letters are converted, so that no position changes. */
function inLowerCase(text: string): string {
  return /\P{ASCII}/u.test(text) ? text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text.toLowerCase();
}

/** The string without the escapes of JSON: the values in a document. */
export function withoutJsonEscapes(text: string): string {
  return text.replaceAll(jsonEscapes, unescaped);
}

function unescaped(escape: string): string {
  if (escape.startsWith("\\") && escape.length === 2) return /[a-z]/i.test(escape) ? " " : escape.slice(1);
  const digits = /[0-9a-f]+(?=;?$)/i.exec(escape)?.[0];
  if (digits === undefined || /^&[a-z]/i.test(escape)) return named[escape.slice(1, -1).toLowerCase()] ?? escape;
  const code = Number.parseInt(digits, /^&#\d/.test(escape) ? 10 : 16);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : escape;
}

/** For each character of the decoded string, and for its end, the start in the original string. */
function originsIn(text: string, kind: RegExp): readonly number[] {
  const origins: number[] = [];
  let done = 0;
  for (const { 0: escape, index } of text.matchAll(kind)) {
    while (done < index) origins.push(done++);
    for (let units = unescaped(escape).length; units > 0; units -= 1) origins.push(index);
    done = index + escape.length;
  }
  while (done <= text.length) origins.push(done++);
  return origins;
}

/** The adjacent base64 digits also contain bits of the secret. */
function withPartialDigits(text: string, { start, end }: TextRange): TextRange {
  const isDigit = (at: number): boolean => /[\w+/-]/.test(text.charAt(at));
  const padding = /^={0,2}/.exec(text.slice(isDigit(end) ? end + 1 : end, end + 3))?.[0].length ?? 0;
  return { start: isDigit(start - 1) ? start - 1 : start, end: (isDigit(end) ? end + 1 : end) + padding };
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

/** An instance, a feed, or one header of a feed. */
export interface KeyOwner {
  readonly namespace: string;
  /** Unique within the namespace. */
  readonly name: string;
}

/** The user who runs the command. */
const user: KeyOwner = { namespace: "", name: "" };

interface Known {
  readonly secret: string;
  /** The namespace of each owner. */
  readonly owners: Map<string, string>;
}

export class Redactor {
  /** By fingerprint, the least recently added first. */
  readonly #known = new Map<string, Known>();
  readonly #search = new SecretSearch();

  /**
   * Redacts the key from now on. Adding it again keeps it from being dropped.
   *
   * @param owner omit it for keys of the user who runs the command
   */
  add(key: { fingerprint(): string; reveal(): string }, { namespace, name }: KeyOwner = user): void {
    const fingerprint = key.fingerprint();
    const known = this.#known.get(fingerprint) ?? { secret: key.reveal(), owners: new Map<string, string>() };
    this.#known.delete(fingerprint);
    this.#known.set(fingerprint, known);
    const owner = `${namespace}/${name}`;
    if (known.owners.has(owner)) return;
    this.#search.add(known.secret);
    known.owners.set(owner, namespace);
    if (namespace !== user.namespace) this.#limit(owner);
    if (this.#known.size > redactorKeysMax) this.#forgetOne();
  }

  /** The string without any of the keys. */
  redact(text: string): string {
    return this.#search.redact(text);
  }

  #limit(owner: string): void {
    const owned: [string, Known][] = [];
    for (const entry of this.#known) if (entry[1].owners.has(owner)) owned.push(entry);
    const [oldest] = owned;
    if (oldest === undefined || owned.length <= keysOfOwnerMax) return;
    oldest[1].owners.delete(owner);
    if (oldest[1].owners.size === 0) this.#forget(...oldest);
  }

  #forgetOne(): void {
    const counts = new Map<string, number>();
    for (const { owners } of this.#known.values()) {
      const namespaces = owners.size === 1 ? owners.values() : new Set(owners.values());
      for (const namespace of namespaces) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    }
    const [most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
    for (const [fingerprint, known] of this.#known) {
      if ([...known.owners.values()].includes(most)) return this.#forget(fingerprint, known);
    }
  }

  #forget(fingerprint: string, { secret }: Known): void {
    this.#known.delete(fingerprint);
    this.#search.delete(secret);
  }
}
