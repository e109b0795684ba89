import { describe, expect, test } from "@jest/globals";
import { noteText, visibleLines, visibleText } from "../../src/model/texts.ts";

describe("An external string", () => {
  test.each([
    ["a colour", "a\u001b[31mb", String.raw`a\u001b[31mb`],
    ["a title of the window", "\u001b]0;x\u0007", String.raw`\u001b]0;x\u0007`],
    ["an escape of one character", "\u009b2J", String.raw`\u009b2J`],
    ["line breaks", "a\r\n::stop-commands::x", String.raw`a\u000d\u000a::stop-commands::x`],
    ["other line breaks", "a\u0085b\u2028c\u2029d", String.raw`a\u0085b\u2028c\u2029d`],
    ["directions of writing", "\u202eabc\u202c\u2066\u200f", String.raw`\u202eabc\u202c\u2066\u200f`],
    ["invisible characters", "a\u200b\u00ad\ufeffb\u{e0041}", String.raw`a\u200b\u00ad\ufeffb\udb40\udc41`],
    ["commands of pipelines", "a ##[error]b ##vso[c", String.raw`a \u0023#[error]b \u0023#vso[c`],
    ["half of a pair", "\ud800", String.raw`\ud800`],
  ])("shows %s instead of obeying it", (_, text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  test("stays unchanged if all of its characters are visible", () => {
    const text = `# ## #[x] münchen 東京 عربي 😀 "quoted" \\ 100 %`;
    expect(visibleText(text)).toBe(text);
  });

  test("with several lines shows commands of pipelines, too", () => {
    expect(visibleLines("a\n##[error]b")).toBe(`a\n${String.raw`\u0023#[error]b`}`);
  });

  test("with several lines keeps the formatting of wafsync", () => {
    expect(visibleLines("\u001b[1mbold\u001b[22m\n\tnext\u001b[2Jgone\r\u009bm\u202e")).toBe(
      `\u001b[1mbold\u001b[22m\n\tnext${String.raw`\u001b[2Jgone\u000d\u009bm\u202e`}`,
    );
  });

  test.each(["8", "7", "30", "38;2;0;0;0", "0;8", ""])("with several lines is not hidden by the code %j", (code) => {
    expect(visibleLines(`+ a\n\u001b[${code}m- b`)).toBe(`+ a\n${String.raw`\u001b`}[${code}m- b`);
  });

  test("has the same value when it is parsed as JSON", () => {
    const value = { text: "a\u009b\u202e\u2028😀" };
    const line = visibleLines(JSON.stringify(value, undefined, 2));
    expect(line).not.toMatch(/[\u009b\u202e\u2028]/u);
    expect(JSON.parse(line)).toStrictEqual(value);
  });
});

test("A long note is cut between two words, because a part of an API key would not be recognized", () => {
  expect(noteText(` ${"x".repeat(110)} ${"k".repeat(40)}`)).toBe(`${"x".repeat(110)} …`);
});
