// Decodes the escapes of URLs, JSON and HTML repeatedly, because encoders may be nested. Each layer takes linear time, and maps
// its characters to the original string.

/** More deeply nested escapes are not decoded. */
const layersMax = 8;

const escapes =
  /(?:%[0-9a-f]{2})+|%u[0-9a-f]{4}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[bfnrt"'/\\]|&#\d{1,8};|&#x[0-9a-f]{1,8};|&(?:amp|lt|gt|quot|apos);/gi;
const escapeMark = /[%\\&]/;
/** Matches every string with an escaped letter or digit, at any depth. */
const lettersMark = /%(?:3[0-9]|[46][1-9a-f]|[57][0-9a]|2[356]|5c|u)|\\[ux]|&#|amp;#/i;
const names: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const controls: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** A range of a string; the end is exclusive. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

interface Layer {
  readonly text: string;
  /** In lower case, with a plus for each space, as in forms. The same length as `text`. */
  readonly folded: string;
}

export class DecodedText {
  /** The original string. */
  readonly plain: Layer;
  readonly #origins: (Int32Array | undefined)[] = [];
  #layers: readonly Layer[] | undefined;
  #hidesLetters: boolean | undefined;

  constructor(text: string) {
    this.plain = layerOf(text);
  }

  /** The string itself, then decoded once, and so on. */
  get layers(): readonly Layer[] {
    return (this.#layers ??= layersOf(this.plain));
  }

  /** False if no layer contains adjacent letters and digits that the string itself does not contain. */
  get hidesLetters(): boolean {
    return (this.#hidesLetters ??= lettersMark.test(this.plain.text));
  }

  /** The range of the original string from which a range of a layer was decoded, without splitting escapes. */
  originOf({ start, end }: TextRange, layer: number): TextRange {
    if (layer === 0) return { start, end };
    const origins = this.#originsOf(layer);
    return { start: origins[start] ?? 0, end: origins[end] ?? 0 };
  }

  /** For each character of a layer, and for its end, the start in the original string. */
  #originsOf(layer: number): Int32Array {
    const known = this.#origins[layer];
    if (known !== undefined) return known;
    const outer = layer > 1 ? this.#originsOf(layer - 1) : undefined;
    const origins = originsIn(this.layers[layer - 1]?.text ?? "", this.layers[layer]?.text.length ?? 0, outer);
    this.#origins[layer] = origins;
    return origins;
  }
}

/** In lower case, without changing the position of any character. */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  const folded = lower.length === text.length ? lower : text.replaceAll(/[^]/g, lowerCharacter);
  return folded.replaceAll(" ", "+");
}

function lowerCharacter(character: string): string {
  const lower = character.toLowerCase();
  return lower.length === 1 ? lower : character;
}

function layersOf(plain: Layer): readonly Layer[] {
  const layers = [plain];
  for (let inner = decode(plain.text); inner !== undefined && layers.length < layersMax; inner = decode(inner)) {
    layers.push(layerOf(inner));
  }
  return layers;
}

function layerOf(text: string): Layer {
  return { text, folded: foldCase(text) };
}

/** The string with each escape decoded once; undefined if it has none. */
export function decode(text: string): string | undefined {
  if (!escapeMark.test(text)) return undefined;
  const decoded = text.replaceAll(escapes, decodeEscape);
  return decoded === text ? undefined : decoded;
}

function originsIn(text: string, decodedLength: number, outer: Int32Array | undefined): Int32Array {
  const origins = new Int32Array(decodedLength + 1);
  const originAt = (index: number): number => outer?.[index] ?? index;
  let to = 0;
  let from = 0;
  const copyUntil = (end: number): void => {
    while (from < end) origins[to++] = originAt(from++);
  };
  for (const { 0: escape, index } of text.matchAll(escapes)) {
    copyUntil(index);
    // A sequence of escaped bytes: each character is decoded from its own bytes.
    for (const { characters, length } of partsOf(escape)) {
      for (let unit = 0; unit < characters.length; unit += 1) origins[to++] = originAt(from);
      from += length;
    }
  }
  copyUntil(text.length);
  origins[to] = originAt(from);
  return origins;
}

function decodeEscape(escape: string): string {
  const kind = escape.charAt(1);
  if (escape.startsWith("&")) return entity(escape);
  if (kind === "u" || kind === "U" || kind === "x" || kind === "X") return unit(escape.slice(2));
  if (escape.startsWith("\\")) return controls[kind.toLowerCase()] ?? kind;
  const whole = escape.length === 3 ? unit(escape.slice(1)) : textOf(escape);
  return whole.includes("\uFFFD")
    ? bytesOf(escape)
        .map(({ characters }) => characters)
        .join("")
    : whole;
}

function textOf(escapedBytes: string): string {
  return Buffer.from(escapedBytes.replaceAll("%", ""), "hex").toString("utf8");
}

interface EscapePart {
  readonly characters: string;
  /** Of the escape. */
  readonly length: number;
}

/** The characters of an escape, each with its range. */
function partsOf(escape: string): readonly EscapePart[] {
  if (/^%[^u]/i.test(escape)) return bytesOf(escape);
  return [{ characters: decodeEscape(escape), length: escape.length }];
}

function unit(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16));
}

function entity(escape: string): string {
  const name = escape.slice(1, -1).toLowerCase();
  if (!name.startsWith("#")) return names[name] ?? escape;
  const code = name.startsWith("#x") ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : escape;
}

/** Bytes that are not valid UTF-8 are decoded as Latin-1. */
function bytesOf(escape: string): readonly EscapePart[] {
  const bytes = Buffer.from(escape.replaceAll("%", ""), "hex");
  const parts: EscapePart[] = [];
  for (let at = 0; at < bytes.length;) {
    const count = sequenceLength(bytes[at] ?? 0);
    const characters = bytes.toString("utf8", at, at + count);
    const isWhole = at + count <= bytes.length && !characters.includes("\uFFFD");
    const taken = isWhole ? count : 1;
    parts.push({ characters: isWhole ? characters : String.fromCharCode(bytes[at] ?? 0), length: 3 * taken });
    at += taken;
  }
  return parts;
}

function sequenceLength(byte: number): number {
  if (byte < 0xc2 || byte > 0xf4) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
