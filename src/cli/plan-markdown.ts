// Formats plans as a comment for a pull request, and what was applied as the summary of a job: counts first, then one folded list for each
// kind of change.
//
// All strings from files or from the API are inside HTML blocks, and every character that HTML or Markdown could interpret is
// escaped. No name, address or message can therefore end a block, start markup, or mention a person.
import { nameKey } from "../model/resource.ts";
import { counted, inThousands } from "../model/texts.ts";
import { blocksOf, type InstanceView, problemLines, type Verdict } from "./instance-view.ts";
import { markdownText } from "./terminal.ts";

/** GitHub accepts 65,536 characters in a comment. */
const markdownLengthMax = 60_000;
/** Space for the last sentence. */
const lengthReserved = 400;
/** This leaves space for the lists. */
const overviewsMax = 40;
/** Longer lists are folded. */
const openLinesMax = 10;
const lineLengthMax = 1_000;

interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

export interface Comment {
  readonly command: "plan" | "apply";
  readonly verdictOf: (view: InstanceView) => Verdict;
  /** The errors in the files, one per line. */
  readonly faults: readonly string[];
  /** What is said about all instances, before them and after them. */
  readonly first?: readonly string[];
  readonly last?: readonly string[];
}

export function markdownOf(views: readonly InstanceView[], comment: Comment): string {
  const { command, verdictOf, faults, first = [], last = [] } = comment;
  const paragraphs = (notes: readonly string[]): string[] => notes.map((note) => `<p>${markdownText(note)}</p>\n`);
  const overviews = views.slice(0, overviewsMax).map((view) => overview(view, verdictOf(view)));
  // With the marker, a pipeline finds the comment of an earlier run and updates it.
  const parts = [`<!-- wafsync-${command} -->\n### wafsync ${command}\n`, ...paragraphs(first), ...overviews];
  if (views.length > overviewsMax) parts.push(`And ${inThousands(views.length - overviewsMax)} more instances.\n`);
  parts.push(...paragraphs(last));
  const inFiles = { title: counted(faults.length, "problem in the files", "problems in the files"), lines: faults };
  const sections = views.flatMap((view) => {
    const where = views.length === 1 ? "" : `${nameKey(view)}: `;
    return sectionsOf(view).map(({ title, lines }) => ({ title: `${where}${title}`, lines }));
  });
  let room = markdownLengthMax - lengthReserved - parts.join("\n").length;
  let omitted = 0;
  for (const section of [inFiles, ...sections]) {
    const { text, left } = folded(section, room);
    omitted += left;
    if (text === "") continue;
    parts.push(text);
    room -= text.length + 1;
  }
  if (omitted > 0) {
    const are = counted(omitted, "line is", "lines are");
    const limit = `${inThousands(markdownLengthMax)} characters`;
    parts.push(
      `${are} omitted, because the comment is limited to ${limit}. \`wafsync ${command} -o json\` prints them all.\n`,
    );
  }
  return parts.join("\n").trimEnd();
}

/** The section with as many of its lines as fit, and how many are left; empty if none fits. */
function folded({ title, lines }: Section, room: number): { readonly text: string; readonly left: number } {
  const start = `<details${lines.length <= openLinesMax ? " open" : ""}><summary>${markdownText(title)}</summary>\n<pre lang="diff"><code>`;
  const end = "</code></pre>\n</details>\n";
  const shown: string[] = [];
  let length = start.length + end.length + 2;
  for (const line of lines) {
    const text = markdownText(line.slice(0, lineLengthMax)) || " ";
    length += text.length + 1;
    if (length > room) break;
    shown.push(text);
  }
  return { text: shown.length === 0 ? "" : `${start}${shown.join("\n")}\n${end}`, left: lines.length - shown.length };
}

/** The name of the instance and its counts. */
function overview(view: InstanceView, { text, isClean }: Verdict): string {
  const { domain } = view;
  const where = domain === undefined ? "" : ` → <code>${markdownText(domain.slice(0, lineLengthMax))}</code>`;
  return `<p><strong><code>${markdownText(nameKey(view))}</code></strong>${where}</p>\n\n${isClean ? text : `**${text}**`}\n`;
}

function sectionsOf(view: InstanceView): Section[] {
  if (view.trouble !== undefined) return [{ title: "Error", lines: [view.trouble] }];
  const differences = blocksOf(view).map(({ title, mark, series }) => ({
    title,
    // A shared reason is printed only once.
    lines: series.flatMap((items) => [
      `@@ ${items[0]?.target ?? ""}: ${items[0]?.reason ?? ""} @@`,
      ...items.map(({ value, note }) => `${mark} ${value}${note === undefined ? "" : `  # ${note}`}`),
    ]),
  }));
  const plain = (_style: unknown, text: string): string => text;
  const changes = { title: "Changes", lines: view.changes ?? [] };
  return [changes, ...differences, { title: "Problems", lines: problemLines(view, plain) }];
}
