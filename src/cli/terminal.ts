// The terminal: colours only if it is interactive, its width, and lines that can be redrawn.
import { styleText } from "node:util";
import { visibleLines } from "../model/visible-text.ts";

export interface Terminal {
  /** Whether it is a terminal, so that progress may be redrawn in place. */
  readonly isInteractive: boolean;
  /** Its current width, which may change. */
  readonly columns: number;
  /** Unfiltered: for callers that move the cursor. */
  write(text: string): void;
  /** One or more lines without control characters except for colors. */
  line(text?: string): void;
}

type Style = Parameters<typeof styleText>[0];

/** Colours the text if the stream is a terminal with colours and NO_COLOR is not set. */
export function colour(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return styleText(style, text, { stream });
}

const columnsDefault = 100;

export function terminalOn(stream: NodeJS.WriteStream): Terminal {
  return {
    isInteractive: stream.isTTY,
    get columns() {
      return stream.columns || columnsDefault;
    },
    write: (text) => void stream.write(text),
    line: (text = "") => void stream.write(`${visibleLines(text)}\n`),
  };
}

/** The same terminal with every string passed through `edit`. A spread copy would freeze the current width. */
export function editedTerminal(terminal: Terminal, edit: (text: string) => string): Terminal {
  return {
    isInteractive: terminal.isInteractive,
    get columns() {
      return terminal.columns;
    },
    write: (text) => terminal.write(edit(text)),
    line: (text = "") => terminal.line(edit(text)),
  };
}
