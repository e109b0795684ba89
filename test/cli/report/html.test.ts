import { describe, expect, test } from "@jest/globals";
import { html, visibleText } from "../../../src/cli/report/html.ts";

describe("a template", () => {
  test("escapes every string, but not its own markup", () => {
    const inner = html`<b>${`<&>"'`}</b>`;
    expect(inner.text).toBe("<b>&lt;&amp;&gt;&quot;&#39;</b>");
    expect(html`<p title="${'" onclick="x'}">${inner}${[inner, inner]}${3}</p>`.text).toBe(
      `<p title="&quot; onclick=&quot;x">${inner.text.repeat(3)}3</p>`,
    );
  });
});

describe("visible text", () => {
  test.each([
    ["a\u{0}b\nc\u{7F}", "a\u{FFFD}b\u{FFFD}c\u{FFFD}"],
    ["\u{202E}evil\u{2066}", "\u{FFFD}evil\u{FFFD}"],
    ["\u{D800}x", "\u{FFFD}x"],
    ["Überblick 😀", "Überblick 😀"],
  ])("%j becomes %j", (text, shown) => {
    expect(visibleText(text, 100)).toBe(shown);
  });

  test("is truncated to its length, even within a surrogate pair", () => {
    expect(visibleText("abcdef", 4)).toBe("abc…");
    expect(visibleText("abcd", 4)).toBe("abcd");
    expect(visibleText("ab😀cd", 4)).toBe("ab\u{FFFD}…");
  });
});
