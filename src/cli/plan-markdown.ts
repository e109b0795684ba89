// Formats plans as a comment for a pull request: counts first, then one folded list for each kind of change.
//
// All strings from files or from the API are inside HTML blocks, and every character that HTML or Markdown could interpret is
// escaped. No name, address or message can therefore end a block, start markup, or mention a person.
import { counted, inThousands } from "../model/sentence.ts";
import type { InstanceView } from "./instance-view.ts";
import type { DifferenceView, OperationView } from "./instance-view.ts";
import { feedLines, problemLines } from "./print-instance.ts";
import { differsFromDeclared, groupByReason, isPartial, planSummary } from "./print-instance.ts";
import { markdownText } from "./terminal.ts";

/** GitHub accepts 65,536 characters in a comment. */
export const markdownLengthMax = 60_000;
/** Space for the last sentence. */
const lengthReserved = 400;
/** The maximum size of the overview, which leaves space for the lists. */
const overviewLengthMax = 20_000;
/** Longer lists are folded. */
const openLinesMax = 10;
const lineLengthMax = 1_000;

/** With this marker, a pipeline finds the comment of an earlier run and updates it. */
const marker = "<!-- wafsync-plan -->";

interface Section {
  readonly title: string;
  readonly lines: readonly Line[];
}

interface Line {
  readonly text: string;
  /** False for a heading. */
  readonly counts: boolean;
}

/** @param faults the errors in the files, one per line */
export function planMarkdown(views: readonly InstanceView[], faults: readonly string[]): string {
  const comment = new BoundedComment();
  comment.add([marker, "### wafsync plan", ""]);
  for (const [index, view] of views.entries()) {
    if (comment.length < overviewLengthMax) comment.add([...overview(view, faults.length > 0), ""]);
    else {
      comment.add([`And ${inThousands(views.length - index)} more instances.`, ""]);
      break;
    }
  }
  const faultTitle = counted(faults.length, "problem in the files", "problems in the files");
  if (faults.length > 0) comment.addSection({ title: faultTitle, lines: faults.map(problemLine) });
  for (const view of views) {
    for (const section of sectionsOf(view)) {
      const where = views.length === 1 ? "" : `${nameOf(view)}: `;
      comment.addSection({ ...section, title: `${where}${section.title}` });
    }
  }
  return comment.end();
}

class BoundedComment {
  readonly #parts: string[] = [];
  #length = 0;
  #leftOut = 0;

  get length(): number {
    return this.#length;
  }

  add(lines: readonly string[]): void {
    for (const line of lines) {
      this.#parts.push(line);
      this.#length += line.length + 1;
    }
  }

  /** Adds the section, with as many of its lines as fit. */
  addSection({ title, lines }: Section): void {
    const countable = lines.filter(({ counts }) => counts).length;
    const start = `<details${countable <= openLinesMax ? " open" : ""}><summary>${markdownText(title)}</summary>`;
    const frame = [start, '<pre lang="diff"><code>', "</code></pre>", "</details>", ""];
    let room = markdownLengthMax - lengthReserved - this.#length - frame.join("\n").length - 1;
    const shown: string[] = [];
    let left = countable;
    for (const { text, counts } of lines) {
      const line = markdownText(text.slice(0, lineLengthMax));
      room -= line.length + 1;
      if (room < 0) break;
      shown.push(line);
      if (counts) left -= 1;
    }
    this.#leftOut += left;
    if (left < countable) this.add([start, `<pre lang="diff"><code>${shown.join("\n")}`, ...frame.slice(2)]);
  }

  end(): string {
    if (this.#leftOut > 0) {
      const are = counted(this.#leftOut, "line is", "lines are");
      const limit = `${inThousands(markdownLengthMax)} characters`;
      this.add([
        `${are} omitted, because the comment is limited to ${limit}. \`wafsync plan -o json\` prints them all.`,
        "",
      ]);
    }
    return this.#parts.join("\n").trimEnd();
  }
}

/** The name of the instance and its counts. */
function overview(view: InstanceView, isFaulty: boolean): string[] {
  const domain =
    view.domain === undefined ? "" : ` → <code>${markdownText(view.domain.slice(0, lineLengthMax))}</code>`;
  const name = `<p><strong><code>${markdownText(nameOf(view))}</code></strong>${domain}</p>`;
  return [name, "", countsOf(view, isFaulty)];
}

function countsOf(view: InstanceView, isFaulty: boolean): string {
  if (view.trouble !== undefined) return "**No plan: the WAF cannot be reconciled.**";
  if (differsFromDeclared(view)) return `**Plan: ${planSummary(view)}**`;
  return isFaulty || isPartial(view)
    ? "**Nothing to do for the other objects.**"
    : "Nothing to do: the WAF matches the declared state.";
}

function nameOf({ namespace, name }: InstanceView): string {
  return `${namespace}/${name}`;
}

function sectionsOf(view: InstanceView): Section[] {
  if (view.trouble !== undefined) return [{ title: "Error", lines: [problemLine(view.trouble)] }];
  const { operations, held, waiting, unmanaged } = view;
  const of = (...kinds: readonly OperationView["operation"][]): OperationView[] =>
    operations.filter(({ operation }) => kinds.includes(operation));
  const problems = problemLines(view, plain);
  return [
    itemSection("to remove", "-", of("RemoveEntry", "RemoveOrigin")),
    itemSection(["removal on hold", "removals on hold"], "!", held),
    itemSection("to add", "+", of("AddEntry", "AddOrigin")),
    itemSection("to adopt without a call", "=", of("Adopt")),
    itemSection(["cache clear", "cache clears"], "~", of("ClearCache")),
    itemSection("waiting", "?", waiting),
    itemSection("already on the WAF and unmanaged", "*", unmanaged),
    { title: "Problems", lines: problems.map(problemLine) },
    { title: "Entries of feeds that are not applied", lines: feedLines(view, plain).map(problemLine) },
  ].filter(({ lines }) => lines.length > 0);
}

/** Prints a shared reason only once. */
function itemSection(
  what: string | readonly [one: string, many: string],
  mark: string,
  items: readonly DifferenceView[],
): Section {
  const lines = groupByReason(items, items.length).flatMap(({ shown }) => {
    const [first] = shown;
    const head = { text: `@@ ${first?.target ?? ""}: ${first?.reason ?? ""} @@`, counts: false };
    return [head, ...shown.map(({ value }) => ({ text: `${mark} ${value}`, counts: true }))];
  });
  const [one, many] = typeof what === "string" ? [what, what] : what;
  return { title: counted(items.length, one, many), lines };
}

function problemLine(text: string): Line {
  return { text: text === "" ? " " : text, counts: true };
}

function plain(_style: unknown, text: string): string {
  return text;
}
