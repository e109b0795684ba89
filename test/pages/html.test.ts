import { describe, expect, test } from "@jest/globals";
import { html } from "../../src/pages/html.ts";

describe("a template", () => {
  test("escapes every string, but not its own markup", () => {
    const inner = html`<b>${`<&>"'`}</b>`;
    expect(inner.text).toBe("<b>&lt;&amp;&gt;&quot;&#39;</b>");
    expect(html`<p title="${'" onclick="x'}">${inner}${[inner, inner]}${3}</p>`.text).toBe(
      `<p title="&quot; onclick=&quot;x">${inner.text.repeat(3)}3</p>`,
    );
  });

  test.each([
    ["a\u{0}b\tc\u{7F}", "a\u{FFFD}b\u{FFFD}c\u{FFFD}"],
    ["\u{202E}evil\u{2066}", "\u{FFFD}evil\u{FFFD}"],
    ["\u{D800}x", "\u{FFFD}x"],
    ["Überblick 😀\n", "Überblick 😀\n"],
    ["x".repeat(601), `${"x".repeat(599)}…`],
  ])("shows the invisible characters and at most 600 of %j", (text, shown) => {
    expect(html`${text}`.text).toBe(shown);
  });
});
