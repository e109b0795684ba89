// How servers, proxies and libraries write a text into URLs, forms, JSON and HTML, and one of them inside another: `/clear/…` of
// a URL in a JSON message, a JSON message on an HTML page. Each spelling is of the whole text, as one encoder writes it; letters
// and digits of ASCII stay what they are in all of them. The case of hexadecimal digits is left to the caller.

type Encode = (text: string) => string;

/** What percent-encoders leave as it is, besides letters and digits. */
const keptByPercentEncoders: readonly string[] = [
  // Nothing; RFC 3986 and PHP's rawurlencode; encodeURIComponent; forms; Python's quote; escape.
  "",
  "-._~",
  "-._~!*'()",
  "-._*",
  "-._~/",
  "@*_+-./",
  // One segment of a path, and a whole path, by RFC 3986 and by Go; the paths of browsers; encodeURI.
  "-._~!$&'()*+,;=:@",
  "-._~!$&'()*+,;=:@/",
  "-._~$&+=:@",
  "-._~$&+,/:;=@",
  "-._~!$&'()*+,;=:@/%[]\\|",
  "-._~!*'();/?:@&=+$,#",
];

const percentEncoders: readonly Encode[] = keptByPercentEncoders.map(
  (kept) => (text) => text.replaceAll(/[^A-Za-z0-9]/gu, (sign) => (kept.includes(sign) ? sign : percentEncoded(sign))),
);

/** In a form, a plus stands for a space: so one may have become the other. */
const formEncoders: readonly Encode[] = [
  (text) => new URLSearchParams([["", text]]).toString().slice(1),
  (text) => text.replaceAll("+", " "),
];

const jsonEncoders: readonly Encode[] = [
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => slashesEscaped(JSON.stringify(text).slice(1, -1)),
  // Python, then PHP.
  (text) => unitsEscaped(JSON.stringify(text).slice(1, -1), /[^\0-\x7f]/g),
  (text) => slashesEscaped(unitsEscaped(JSON.stringify(text).slice(1, -1), /[^\0-\x7f]/g)),
  // Go, safe inside of HTML.
  (text) => unitsEscaped(JSON.stringify(text).slice(1, -1), /[<>&]/g),
];

const tags = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const htmlNames: readonly Readonly<Record<string, string>>[] = [
  tags,
  { ...tags, '"': "&quot;", "'": "&#39;" },
  { ...tags, '"': "&quot;", "'": "&#039;" },
  { ...tags, '"': "&quot;", "'": "&#x27;" },
  { ...tags, '"': "&quot;", "'": "&apos;" },
  { ...tags, '"': "&#34;", "'": "&#39;" },
  { ...tags, '"': "&quot;", "'": "&#x27;", "/": "&#x2F;" },
  { ...tags, '"': "&quot;", "'": "&#39;", "/": "&#x2F;", "`": "&#x60;", "=": "&#x3D;" },
];

const htmlEncoders: readonly Encode[] = htmlNames.map(
  (names) => (text) => text.replaceAll(/["&'/<=>`]/g, (sign) => names[sign] ?? sign),
);

/** Every different spelling of the text, itself included, the longest first. */
export function spellingsOf(text: string): readonly string[] {
  const inUrl = each([...percentEncoders, ...formEncoders], [text]);
  const inJson = each(jsonEncoders, [text]);
  const inHtml = each(htmlEncoders, [text]);
  const spellings = new Set([
    text,
    ...inUrl,
    ...each(percentEncoders, inUrl),
    ...inJson,
    ...each(jsonEncoders, [...inUrl, ...inJson, ...inHtml]),
    ...inHtml,
    ...each(htmlEncoders, [...inUrl, ...inJson]),
  ]);
  return [...spellings].sort((a, b) => b.length - a.length);
}

/** The text with each of its characters as an escape: percent-encoded, in JSON, and in HTML by decimal and by hexadecimal code. */
export function fullyEscaped(text: string): readonly string[] {
  const entities = (radix: number, mark: string): string =>
    Array.from(text, (character) => `&#${mark}${(character.codePointAt(0) ?? 0).toString(radix)};`).join("");
  return [percentEncoded(text), unitsEscaped(text, /[^]/g), entities(10, ""), entities(16, "x")];
}

function each(encoders: readonly Encode[], texts: Iterable<string>): ReadonlySet<string> {
  const encoded = new Set<string>();
  for (const text of texts) for (const encode of encoders) encoded.add(encode(text));
  return encoded;
}

function percentEncoded(text: string): string {
  return Buffer.from(text, "utf8").toString("hex").replaceAll(/../g, "%$&");
}

function slashesEscaped(json: string): string {
  return json.replaceAll("/", String.raw`\/`);
}

function unitsEscaped(text: string, units: RegExp): string {
  return text.replaceAll(units, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
