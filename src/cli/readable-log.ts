// Formats the operator's log for a terminal: one line per JSON line with the time of day in UTC, the level in colour, the
// message and the fields.
import { visibleText } from "../model/visible-text.ts";
import { colour } from "./terminal.ts";

type Style = Parameters<typeof colour>[1];

const levelStyles: Readonly<Record<string, Style>> = { debug: "dim", info: "green", warn: "yellow", error: "red" };
const levelWidth = 5;
const messageWidth = 24;

/** A destination for a logger that writes the formatted lines to the stream. */
export function readableLog(stream: NodeJS.WriteStream): { write(line: string): void } {
  return { write: (line) => void stream.write(`${readableLine(line, stream)}\n`) };
}

/** Leaves a line unchanged if it is not a log line. */
export function readableLine(line: string, stream: NodeJS.WriteStream): string {
  const record = parse(line);
  if (record === undefined) return line.trimEnd();
  const { level, time, msg, ...fields } = record;
  const [name, at, message] = [level, time, msg].map((value) => (typeof value === "string" ? value : ""));
  const parts = [
    colour(stream, "dim", `${(at ?? "").slice(11, 19)}Z`),
    colour(stream, levelStyles[name ?? ""] ?? "dim", (name ?? "").padEnd(levelWidth)),
    colour(stream, "bold", visibleText(message ?? "").padEnd(messageWidth)),
    ...Object.entries(fields).map(
      ([field, value]) => `${colour(stream, "dim", `${visibleText(field)}=`)}${valueText(value)}`,
    ),
  ];
  return parts.join("  ").trimEnd();
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function valueText(value: unknown): string {
  return visibleText(typeof value === "string" && value !== "" && !value.includes("=") ? value : JSON.stringify(value));
}
