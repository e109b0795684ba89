// Texts from outside for people: nothing in them commands a terminal, hides a part of them or turns the direction of writing.
// Such characters become the escapes of JSON, so that JSON stays what it is.

const plain = /^[\x20-\x7e]*$/;
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** What wafsync itself puts into a text of several lines: line feeds, tabs, and the colours of a terminal. */
const ownOrUnseen = new RegExp(String.raw`\n|\t|${"\u001b"}\[[0-9;]{0,16}m|${unseen.source}`, "gu");

/** One line, in which every character is seen. */
export function visibleText(text: string): string {
  // Nearly all texts are plain, and there may be a million of them.
  return plain.test(text) ? text : text.replaceAll(unseen, escaped);
}

/** Lines that wafsync has composed and coloured, of texts that are one line each. */
export function visibleLines(text: string): string {
  return text.replaceAll(ownOrUnseen, (found) => (isOwn(found) ? found : escaped(found)));
}

function isOwn(found: string): boolean {
  return found === "\n" || found === "\t" || found.length > 2;
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, unit) => {
    const code = character.charCodeAt(unit).toString(16);
    return String.raw`\u${code.padStart(4, "0")}`;
  }).join("");
}
