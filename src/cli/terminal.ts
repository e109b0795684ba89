// The terminal as wafsync uses it: colours only where a person looks, widths that fit, lines that can be replaced.
import { styleText } from "node:util";

export interface Terminal {
  /** A person looks at it: progress may be redrawn in place. */
  readonly isInteractive: boolean;
  readonly columns: number;
  write(text: string): void;
  line(text?: string): void;
}

type Style = Parameters<typeof styleText>[0];

/** Colours the text if the stream is a terminal that shows colours, and NO_COLOR does not forbid it. */
export function colour(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return styleText(style, text, { stream });
}

export function terminalOn(stream: NodeJS.WriteStream): Terminal {
  return {
    isInteractive: stream.isTTY,
    columns: stream.columns || 100,
    write: (text) => void stream.write(text),
    line: (text = "") => void stream.write(`${text}\n`),
  };
}
