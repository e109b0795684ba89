import { describe, expect, test } from "@jest/globals";
import { type LogFormatName, logFormats } from "../../../src/cli/logs/log-format.ts";
import { type LogEntry, logEntryFields } from "../../../src/model/log-entry.ts";
import { row } from "../../support/fakes/scripted-logs.ts";

const nasty = 'a,"b"\n=c\r\u0000\u001B[31mé😀\u009B2J\u2028\u202E\uD800';

function print(name: LogFormatName, batches: readonly (readonly LogEntry[])[], isTerminal = false): string {
  const format = logFormats[name](isTerminal ? () => 200 : undefined);
  let count = 0;
  let text = format.start;
  for (const batch of batches) {
    text += format.rows(batch, count === 0);
    count += batch.length;
  }
  return text + format.end(count === 0);
}

/** The cells of the first row, by field. */
function csvCells(entry: Partial<LogEntry>, isTerminal = false): Record<string, string | undefined> {
  const [header = [], cells = []] = [...csvRows(print("csv", [[row("/", entry)]], isTerminal))];
  return Object.fromEntries(header.map((field, index) => [field, cells[index]]));
}

describe("ndjson and json", () => {
  test("contain the original values, including unknown fields, whatever their characters", () => {
    const rows = [{ ...row(nasty), extra: { deep: [nasty] } }, row("/", { referrer: null })];
    const lines = print("ndjson", [rows]).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toStrictEqual(rows);
    expect(JSON.parse(print("json", [rows, [row("/c")]]))).toStrictEqual([...rows, row("/c")]);
    expect(JSON.parse(print("json", []))).toStrictEqual([]);
  });
});

// Reads CSV as specified in RFC 4180. It shares no code with the writer, so it detects the writer's bugs.
/** The cells of each line; a cell without any characters is undefined, and `""` is an empty string. */
function* csvRows(text: string): Generator<readonly (string | undefined)[]> {
  let row: (string | undefined)[] = [];
  let position = 0;
  while (position < text.length) {
    let cell: string | undefined;
    if (text[position] === '"') {
      cell = "";
      for (position += 1; ; position += 1) {
        const end = text.indexOf('"', position);
        if (end < 0) throw new TypeError("a quote is not closed");
        cell += text.slice(position, end);
        position = end + 1;
        if (text[position] !== '"') break;
        cell += '"';
      }
    } else {
      const match = /[,\n]/g;
      match.lastIndex = position;
      const end = match.exec(text)?.index ?? text.length;
      cell = end === position ? undefined : text.slice(position, end);
      if (cell?.includes('"') === true) throw new TypeError("a quote in a cell that has none around it");
      position = end;
    }
    row.push(cell);
    if (text[position] === "\n") {
      yield row;
      row = [];
    }
    position += 1;
  }
  if (row.length > 0) yield row;
}

describe("csv", () => {
  test("has a header and one line per row, and distinguishes missing values from empty ones", () => {
    const text = print("csv", [[row("/a", { referrer: null, user_agent: "" })], [row("/b")]]);
    expect(text.split("\n")).toStrictEqual([
      logEntryFields.join(","),
      '2026-06-10T10:00:00.000Z,192.0.2.1,GET,/a,403,150,,"",Bad Bot 1002,NL,false',
      "2026-06-10T10:00:00.000Z,192.0.2.1,GET,/b,403,150,,curl/8.5.0,Bad Bot 1002,NL,false",
      "",
    ]);
  });

  test("quotes values that would break a line or a cell", () => {
    expect(csvCells({ user_agent: 'x,"y"\n\r\n' })["user_agent"]).toBe('x,"y"\n\r\n');
  });

  test.each([
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1",
    "\n=1",
    " =1",
    "\n\r\t =1",
    "\u00a0+1",
    "\ufeff@x",
    "\u000b-1",
    '=HYPERLINK("http://x","y")',
  ])("does not write %j as a formula", (text) => {
    const cells = csvCells({
      request_path: text,
      user_agent: text,
      referrer: text,
      block_reason: text,
      country: text,
    });
    for (const field of ["request_path", "user_agent", "referrer", "block_reason", "country"]) {
      expect(cells[field]).toBe(`'${text}`);
    }
  });
});

describe("the table", () => {
  test("has one line per row, whatever the values are", () => {
    const text = print("table", [[row(nasty), row("x".repeat(5000))]]);
    expect(text.split("\n")).toHaveLength(4);
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\u2028]/u);
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThan(260);
  });

  const entries = [
    row("/short"),
    row("/long".repeat(50), { block_reason: "Remote Command Execution 932160" }),
    row("/語語語".repeat(40), {
      block_reason: "A reason that is longer than any column",
      client_ip: "2001:db8::1:2:3:4",
    }),
  ];

  test.each([60, 80, 100, 140, 200])("is aligned on a terminal of %i columns, and never wider than it", (width) => {
    const format = logFormats.table(() => width);
    const text = format.start + format.rows(entries.slice(0, 2), true);
    const [header = "", first = "", second = ""] = text.split("\n");
    expect([first.indexOf("/short"), second.indexOf("/long")]).toStrictEqual([
      header.indexOf("PATH"),
      header.indexOf("PATH"),
    ]);
    expect(second).toHaveLength(width);
    expect(second.endsWith("…")).toBe(true);
    expect(second.length - header.indexOf("PATH")).toBeGreaterThanOrEqual(width < 80 ? 1 : 10);
  });

  test("counts two cells for a CJK character, and follows a terminal that is resized", () => {
    let width = 140;
    const format = logFormats.table(() => width);
    const [, , wide = ""] = format.rows(entries, true).split("\n");
    expect(wide.length + (wide.match(/語/gu)?.length ?? 0)).toBeLessThanOrEqual(140);
    width = 60;
    expect(
      Math.max(
        ...format
          .rows(entries.slice(0, 2), false)
          .split("\n")
          .map((line) => line.length),
      ),
    ).toBe(60);
  });

  test("says if there are no rows", () => {
    expect(print("table", [])).toMatch(/^TIME .*\nNo blocked requests\.\n$/);
  });
});
