// The terminal: colours only if it is interactive, its width, and lines that can be redrawn.
import { styleText } from "node:util";
import { visibleLines } from "../model/visible-text.ts";

export interface Terminal {
  /** Whether it is a terminal, so that progress may be redrawn in place. */
  readonly isInteractive: boolean;
  readonly columns: number;
  /** As it is: for whoever moves the cursor. */
  write(text: string): void;
  /** One or more lines in which nothing but colours commands the terminal. */
  line(text?: string): void;
}

type Style = Parameters<typeof styleText>[0];

/** Colours the text if the stream is a terminal with colours and NO_COLOR is not set. */
export function colour(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return styleText(style, text, { stream });
}

export function terminalOn(stream: NodeJS.WriteStream): Terminal {
  return {
    isInteractive: stream.isTTY,
    columns: stream.columns || 100,
    write: (text) => void stream.write(text),
    line: (text = "") => void stream.write(`${visibleLines(text)}\n`),
  };
}
