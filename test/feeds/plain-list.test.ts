import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import type { FeedReading } from "../../src/feeds/feed-state.ts";
import { lineLengthMax, readFeed } from "../../src/feeds/read-feed.ts";
import { readSharedList } from "./shared-lists.ts";

async function read(text: string | Buffer): Promise<FeedReading> {
  return await readFeed(Buffer.from(text), { type: "Plain" }, { clock: realClock });
}

describe("A plain list", () => {
  test("has the comments behind entries as notes", async () => {
    const { content } = await read(
      "; Spamhaus\n192.0.2.0/24 ; SBL256894\r\n192.0.2.1\t# scans\n192.0.2.2\t10\n192.0.2.3\n",
    );
    const notes = { "192.0.2.0/24": "SBL256894", "192.0.2.1": "scans" };
    expect(content.notes).toStrictEqual(new Map(Object.entries(notes)));
  });

  const two = ["192.0.2.1", "192.0.2.2"];
  const drop = "; Spamhaus DROP List\n1.10.16.0/20 ; SBL256894\n2.57.122.0/24 ; SBL636050\n";
  const dshield =
    "#\tDShield.org Recommended Block List\nStart\tEnd\tNetmask\tAttacks\tName\n45.148.10.0\t45.148.10.255\t24\t4101\tTECHOFF\n";

  test.each([
    ["one address a line", "192.0.2.1\n192.0.2.2\n", two],
    ["Windows line breaks, blank lines and no line break at the end", "192.0.2.1\r\n\r\n192.0.2.2", two],
    ["a byte order mark", "\uFEFF192.0.2.1\n", ["192.0.2.1"]],
    ["Spamhaus DROP", drop, ["1.10.16.0/20", "2.57.122.0/24"]],
    ["FireHOL", "#\n# firehol_level2\n#\n1.0.134.30\n5.8.11.202/32\n", ["1.0.134.30", "5.8.11.202"]],
    ["IPsum with counts", "# IPsum Feed\n77.90.185.20\t10\n2.57.122.53\t9\n", ["77.90.185.20", "2.57.122.53"]],
    ["DShield", dshield, ["45.148.10.0/24"]],
    [
      "FortiGate",
      "1.2.3.0/24\n2001:db8::1\n2001:DB8:1::/48 # branch\n",
      ["1.2.3.0/24", "2001:db8::1", "2001:db8:1::/48"],
    ],
    ["commas and spaces after the entry", "192.0.2.1,malware,90\n192.0.2.2 seen yesterday\n", two],
  ])("is read as %s write it", async (_, text, entries) => {
    const { content, counts } = await read(text);
    expect(content.entries).toStrictEqual(entries);
    expect(counts).toStrictEqual({ total: entries.length, valid: entries.length, invalid: 0, duplicates: 0 });
  });

  test("reports the first ten invalid lines and counts the rest", async () => {
    const lines = "192.0.2.1 #comment bad.example 10.0.0.0/0/8 192.0.2.1 192.0.2.7/24".split(" ");
    const { counts, invalidLines } = await read([...lines, ...Array<string>(20).fill("x-y")].join("\n"));
    expect(counts).toStrictEqual({ total: 25, valid: 1, invalid: 23, duplicates: 1 });
    expect(invalidLines).toHaveLength(10);
    expect(invalidLines.slice(0, 3)).toStrictEqual([
      { line: 3, text: "bad.example", message: expect.stringContaining("host name") },
      { line: 4, text: "10.0.0.0/0/8", message: expect.any(String) },
      { line: 6, text: "192.0.2.7/24", message: expect.stringContaining("host bits") },
    ]);
  });

  test("accepts a DShield range only if its addresses and its prefix are consistent", async () => {
    const { content, invalidLines } = await read("192.0.2.0\t192.0.2.254\t24\n192.0.2.1 198.51.100.1\n");
    expect(content.entries).toStrictEqual([]);
    expect(invalidLines.map(({ line, message }) => [line, message])).toStrictEqual([
      [1, expect.stringContaining("two addresses")],
      [2, expect.stringContaining("two addresses")],
    ]);
  });

  test.each([
    "192.0.2.1 - 192.0.2.9",
    "192.0.2.1\t-192.0.2.9",
    "192.0.2.1 – 192.0.2.9",
    "192.0.2.1 to 192.0.2.9 # lab",
  ])("does not take the range %s for its first address", async (line) => {
    const { content, invalidLines } = await read(`${line}\n192.0.2.20 - a note\n`);
    expect(content.entries).toStrictEqual(["192.0.2.20"]);
    expect(invalidLines).toMatchObject([{ line: 1, message: expect.stringContaining("two addresses") }]);
  });

  test("counts a line of any length as one invalid entry", async () => {
    const long = "1".repeat(5 * lineLengthMax);
    const { content, counts, invalidLines } = await read(`192.0.2.1\n${long}\n192.0.2.2\n`);
    expect(content.entries).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
    expect(counts.invalid).toBe(1);
    expect(invalidLines).toMatchObject([{ line: 2, message: expect.stringContaining(`${lineLengthMax} bytes`) }]);
  });

  test("quotes binary data in one printable line", async () => {
    const { invalidLines } = await read(Buffer.from([0, 255, 254, 27, 91, 10, 65, 10]));
    expect(invalidLines).toHaveLength(2);
    for (const { text } of invalidLines) expect(text).not.toMatch(/[^\P{C}]/u);
  });

  test("is read only up to the maximum number of entries", async () => {
    const body = Buffer.from("192.0.2.1\n192.0.2.2\n192.0.2.3\n");
    const reading = readFeed(body, { type: "Plain" }, { entriesMax: 2, clock: realClock });
    await expect(reading).rejects.toThrow("The feed has more than 2 entries.");
  });
});

test("The real IPsum list of level 3 has 14,217 valid entries", async () => {
  const text = await readSharedList("ipsum-level-3.txt");
  if (text === undefined) return;
  const { counts } = await read(text);
  expect(counts).toStrictEqual({ total: 14_217, valid: 14_217, invalid: 0, duplicates: 0 });
});
