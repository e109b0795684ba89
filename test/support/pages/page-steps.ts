// A page as a script: its command blocks in their order, the outputs that it shows, and the invisible comments that say how to run
// it. docs/contributing/testing.md explains these comments ("Commands on pages").

export interface PageCommand {
  readonly kind: "Command";
  readonly line: number;
  readonly script: string;
  /** What the page shows of its output; undefined if it shows nothing. */
  readonly shown: string | undefined;
  readonly exitCode: number;
  /** Runs until it is interrupted, or until the end of the page. */
  readonly isInBackground: boolean;
  /** The figures depend on the day or on the machine. */
  readonly hasOtherFigures: boolean;
}

export type PageStep =
  | PageCommand
  | {
      readonly kind: "Preparation";
      readonly line: number;
      readonly script: string;
      /** What it makes a command in the background print. */
      readonly shown?: string;
    }
  | { readonly kind: "File"; readonly line: number; readonly path: string; readonly text: string }
  | { readonly kind: "Interruption"; readonly line: number; readonly script: string };

/** A block of commands that no test runs, and why. */
export interface NotRun {
  readonly line: number;
  readonly reason: string;
}

export interface PageScript {
  readonly steps: readonly PageStep[];
  readonly notRun: readonly NotRun[];
  /** What a writer has to correct. */
  readonly faults: readonly string[];
}

interface Marks {
  readonly notRun?: string;
  readonly file?: string;
  readonly exitCode?: number;
  readonly isInBackground?: true;
  readonly hasOtherFigures?: boolean;
}

interface Block {
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly marks: Marks;
}

const shells = ["sh", "bash", "console"];
const part = /^( *)```(\w*)[^\n]*\n(.*?)^ *```$|^ *<!--(.*?)-->|^#+ [^\n]*$/gms;

export function scriptOfPage(page: string): PageScript {
  const reader = new PageReader();
  for (const found of page.matchAll(part)) {
    const line = page.slice(0, found.index).split("\n").length;
    const [, indent = "", language, text = "", comment] = found;
    if (language !== undefined) {
      const dedented = text.replaceAll(new RegExp(`^${indent}`, "gm"), "");
      reader.block(line, language, dedented);
    } else if (comment !== undefined) reader.comment(line, comment.trim());
    else reader.heading();
  }
  return reader;
}

class PageReader implements PageScript {
  readonly steps: PageStep[] = [];
  readonly notRun: NotRun[] = [];
  readonly faults: string[] = [];
  #marks: Marks = {};
  /** The last command or preparation, if its output may follow. */
  #pending: PageStep | undefined;

  heading(): void {
    this.#pending = undefined;
  }

  comment(line: number, comment: string): void {
    const [, key = "", value = ""] = /^([A-Za-z -]+?)(?::\s*(.*))?$/s.exec(comment) ?? [];
    if (key === "first run") {
      this.#pending = { kind: "Preparation", line, script: value };
      this.steps.push(this.#pending);
    } else if (key === "Ctrl-C") this.steps.push({ kind: "Interruption", line, script: value });
    else if (key === "not run") this.#marks = { ...this.#marks, notRun: value.replaceAll(/\s+/g, " ") };
    else if (key === "file") this.#marks = { ...this.#marks, file: value };
    else if (key === "exit code") this.#marks = { ...this.#marks, exitCode: Number(value) };
    else if (key === "in the background") this.#marks = { ...this.#marks, isInBackground: true };
    else if (key === "figures differ") this.#marks = { ...this.#marks, hasOtherFigures: true };
  }

  block(line: number, language: string, text: string): void {
    const block = { line, language, text, marks: this.#marks };
    this.#marks = {};
    const { notRun, file } = block.marks;
    const isSession = language === "console" || (language === "text" && /^\$ /m.test(text));
    const isCommand = isSession || shells.includes(language);
    if (notRun !== undefined) {
      if (isCommand) this.notRun.push({ line, reason: notRun });
      this.#pending = undefined;
    } else if (file !== undefined) this.steps.push({ kind: "File", line, path: file, text });
    else if (isSession) this.#addSession(block);
    else if (isCommand) this.#addCommand(block, text, undefined);
    else if (language === "text") this.#addOutput(block);
  }

  #addSession(block: Block): void {
    const commands = commandsOfSession(block.text);
    if (commands.length === 0) this.faults.push(`line ${block.line}: no line of the console block begins with "$ "`);
    for (const [index, { command, output }] of commands.entries()) {
      const { isInBackground: _, ...others } = block.marks;
      const marks = index === 0 ? block.marks : others;
      this.#addCommand({ ...block, marks }, command, output.trim() === "" ? undefined : `${output.trimEnd()}\n`);
    }
    this.#pending = undefined;
  }

  #addCommand({ line, marks }: Block, script: string, shown: string | undefined): void {
    const { exitCode = 0, isInBackground = false, hasOtherFigures = false } = marks;
    const command = { kind: "Command", line, script, shown, exitCode, isInBackground, hasOtherFigures } as const;
    this.#pending = command;
    this.steps.push(command);
  }

  /** The output of the last commands of the same section. */
  #addOutput({ text, marks: { hasOtherFigures = false } }: Block): void {
    const step = this.#pending;
    if (step === undefined) return;
    const shown = { ...step, shown: text, ...(hasOtherFigures ? { hasOtherFigures } : {}) };
    this.steps[this.steps.indexOf(step)] = shown;
    this.#pending = undefined;
  }
}

/** `$ command`, over several lines while a quote is open or a line ends with a backslash; then what it prints. */
function commandsOfSession(text: string): { readonly command: string; readonly output: string }[] {
  const found: { command: string; output: string }[] = [];
  for (const line of text.split("\n")) {
    const last = found.at(-1);
    if (line.startsWith("$ ")) found.push({ command: line.slice(2), output: "" });
    else if (last !== undefined && last.output === "" && isUnfinished(last.command)) last.command += `\n${line}`;
    else if (last !== undefined) last.output += `${line}\n`;
  }
  return found;
}

function isUnfinished(command: string): boolean {
  return command.endsWith("\\") || command.split("'").length % 2 === 0;
}
