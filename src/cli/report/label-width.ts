// Estimates the width of a label in a chart, because the reader's fonts are unknown. The estimate is rather too wide than too
// narrow.

/** In pixels at a font size of 13. */
const narrowWidth = 5.5;
const latinWidth = 8.2;
const capitalWidth = 9.6;
const widestLatinWidth = 13.5;
/** All other characters, such as Chinese characters and emojis. */
const otherWidth = 18;

/** In pixels. */
export function labelWidth(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return Math.ceil(width);
}

/** The text, truncated to at most this width. */
export function fittingLabel(text: string, widthMax: number): string {
  if (labelWidth(text) <= widthMax) return text;
  let width = otherWidth;
  let shown = "";
  for (const character of text) {
    width += widthOf(character);
    if (width > widthMax) break;
    shown += character;
  }
  return `${shown.trimEnd()}…`;
}

function widthOf(character: string): number {
  if (/^[WM@%mw—…]$/u.test(character)) return widestLatinWidth;
  if (/^[ .,:;'!|iIjl]$/u.test(character)) return narrowWidth;
  if (/^[A-ZÀ-Þ&#<>=+~_^]$/u.test(character)) return capitalWidth;
  return /^[\u0020-\u024F]$/u.test(character) ? latinWidth : otherWidth;
}
