import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { readFeed } from "../../src/feeds/read-feed.ts";
import type { CsvFormat } from "../../src/model/declared.ts";

const byName: CsvFormat = { type: "Csv", column: "dst_ip", delimiter: ",", header: true };

async function read(text: string, format: CsvFormat = byName) {
  return await readFeed(Buffer.from(text), format, { clock: realClock });
}

const feodo = [
  "################",
  "# Feodo Tracker",
  '"first_seen_utc","dst_ip","dst_port","c2_status"',
  '"2022-06-04 21:24:53","162.243.103.246","8080","offline"',
  '"2022-06-04 21:24:53","not an address","8080","say ""no"""',
  '"2022-06-04 21:24:53","","443","offline"',
  '"2023-02-21 00:00:00","162.243.103.246","443","offline"',
  "",
].join("\r\n");

describe("A CSV table", () => {
  test("provides the named column, below comments and a header", async () => {
    expect(await read(feodo)).toStrictEqual({
      content: { entries: ["162.243.103.246"], expiresAtMs: new Map() },
      counts: { total: 4, valid: 1, invalid: 2, duplicates: 1 },
      invalidLines: [
        { line: 5, text: "not an address", message: expect.stringContaining("whitespace") },
        { line: 6, text: "", message: "column dst_ip of the row is empty" },
      ],
    });
  });

  test.each<[string, CsvFormat, string]>([
    ["a number, without a header", { ...byName, column: "2", header: false }, "a,192.0.2.1\nb,192.0.2.2\n"],
    ["a number, below a header", { ...byName, column: "2" }, "name,address\na,192.0.2.1\nb,192.0.2.2\n"],
    ["a name in other letters", { ...byName, column: "Address" }, "name,ADDRESS\na,192.0.2.1\nb,192.0.2.2\n"],
    ["another delimiter", { ...byName, column: "2", header: false, delimiter: ";" }, "a;192.0.2.1\nb;192.0.2.2\n"],
    ["tabs", { ...byName, column: "1", header: false, delimiter: "\t" }, "192.0.2.1\ta\n192.0.2.2\t\n"],
  ])("provides the column selected by %s", async (_, format, text) => {
    expect(await read(text, format)).toMatchObject({
      content: { entries: ["192.0.2.1", "192.0.2.2"] },
      counts: { invalid: 0 },
    });
  });

  test("without the column is a fault, not an empty list", async () => {
    const message = "The table has no column dst_ip: its first row has 2 columns.";
    await expect(read("name,address\na,192.0.2.1\n")).rejects.toThrow(message);
    const beyond = read("name,address\na,192.0.2.1\n", { ...byName, column: "3" });
    await expect(beyond).rejects.toThrow("The table has no column 3");
  });

  test("with a quotation mark that is never closed is a fault", async () => {
    const text = `dst_ip\n192.0.2.1\n"${"192.0.2.2\n".repeat(10_000)}`;
    await expect(read(text)).rejects.toThrow("The response is not a CSV table: line");
  });
});
