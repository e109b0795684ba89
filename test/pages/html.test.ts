import { describe, expect, test } from "@jest/globals";
import { html, longText } from "../../src/pages/html.ts";

describe("a template", () => {
  test("escapes every string, but not its own markup", () => {
    const inner = html`<b>${`<&>"'`}</b>`;
    expect(inner.text).toBe("<b>&lt;&amp;&gt;&quot;&#39;</b>");
    expect(html`<p title="${'" onclick="x'}">${inner}${[inner, inner]}${3}</p>`.text).toBe(
      `<p title="&quot; onclick=&quot;x">${inner.text.repeat(3)}3</p>`,
    );
  });

  test("truncates every string, and in a long text every line", () => {
    const [long, short] = ["x".repeat(5_000), `${"x".repeat(599)}…`];
    expect(html`<b>${long}</b>`.text).toBe(`<b>${short}</b>`);
    expect(longText([long, "<"]).text).toBe(`${"x".repeat(3_999)}…\n&lt;`);
  });

  test.each([
    ["a\u{0}b\tc\u{7F}", "a\u{FFFD}b\u{FFFD}c\u{FFFD}"],
    ["\u{202E}evil\u{2066}", "\u{FFFD}evil\u{FFFD}"],
    ["\u{D800}x", "\u{FFFD}x"],
    ["Überblick 😀\n", "Überblick 😀\n"],
  ])("shows the invisible characters of %j", (text, shown) => {
    expect(html`${text}`.text).toBe(shown);
  });
});
