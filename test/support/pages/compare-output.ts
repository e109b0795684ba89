// What a page shows of an output, compared with what was printed: times, ages, hashes, rates and the width of columns differ from
// run to run, and `…` stands for anything.

/** True if it is the same output. */
export function isOutput(shown: string, printed: string, hasOtherFigures = false): boolean {
  return patternOf(shown, hasOtherFigures, ["^", "$"]).test(normalized(printed, hasOtherFigures));
}

/** True if it is part of what was printed. */
export function isPartOfOutput(shown: string, printed: string, hasOtherFigures = false): boolean {
  return patternOf(shown, hasOtherFigures, ["", ""]).test(normalized(printed, hasOtherFigures));
}

export function normalized(text: string, hasOtherFigures = false): string {
  // The progress of a command that takes longer than usual.
  const lines = text.split("\n").filter((line) => !/[█░]|\d %\s+[\d,.]+\/s/.test(line));
  // Events of the same second have no defined order.
  const isEvent = (line: string): boolean => /^ {2}(?:Normal|Warning) /.test(line);
  const one = [...lines.filter((line) => !isEvent(line)), ...lines.filter(isEvent).sort()]
    .join("\n")
    .replaceAll(/^( *(?:UID|Resource Version|Inventory Version): +).*$/gm, "$1<identity>")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>")
    .replaceAll(/\b\d\d:\d\d:\d\dZ/g, "<time>")
    .replaceAll(/\b(?=[0-9a-f]*\d)[0-9a-f]{10,40}\b/g, "<hash>")
    .replaceAll(/(?<=\s)\d+[smh](?:\d+s)?(?=\s|$)/g, "<age>")
    .replaceAll(/(?<=\bNode\.js +)\S+ \(\S+\)/g, "<node>")
    .replaceAll(/-{3,}/g, "---")
    .replaceAll(/\s+/g, " ")
    .trim();
  return hasOtherFigures ? one.replaceAll(/\d{4}-\d\d-\d\d/g, "<day>").replaceAll(/\d[\d,.]*/g, "<figure>") : one;
}

function patternOf(shown: string, hasOtherFigures: boolean, [begin, end]: readonly [string, string]): RegExp {
  const parts = normalized(shown, hasOtherFigures).split("…");
  return new RegExp(
    `${begin}${parts.map((one) => one.trim().replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("\\s*.*?\\s*")}${end}`,
    "s",
  );
}
