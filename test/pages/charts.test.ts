import { describe, expect, test } from "@jest/globals";
import { shareBar, timeChart } from "../../src/pages/charts.ts";

const hourMs = 3_600_000;
const over = {
  startMs: Date.parse("2026-11-21T00:00:00Z"),
  stepMs: hourMs,
  series: [
    { name: "SQL <b>\u{202E}", color: "series-1", counts: [1_200, 0, 3] },
    { name: "Other", color: "series-other", counts: [0, 0, 1] },
  ],
};

function textsOf(svg: string, element: string): (string | undefined)[] {
  return [...svg.matchAll(new RegExp(`<${element}[^>]*>(?<text>.*?)</${element}>`, "g"))].map(
    ({ groups }) => groups?.["text"],
  );
}

describe("a chart over time", () => {
  test("has a tooltip on each bar, and no styles", () => {
    const { text } = timeChart("Requests", "bars", over);
    const tooltips = [
      "11-21 00:00: 1,200 SQL &lt;b&gt;\u{FFFD} (of 1,200)",
      "11-21 02:00: 3 SQL &lt;b&gt;\u{FFFD} (of 4)",
      "11-21 02:00: 1 Other (of 4)",
    ];
    expect(textsOf(text, "title")).toStrictEqual([...tooltips, ...tooltips]);
    expect(text).not.toMatch(/style|\bon[a-z]+=/);
  });

  test("has a few round ticks, and only labels for which there is space", () => {
    const counts = Array.from({ length: 72 }, (_, step) => step * 137);
    const { text } = timeChart("Requests", "lines", { ...over, series: [{ name: "All", color: "series-1", counts }] });
    const [wide = "", narrow = ""] = text.split('class="narrow"');
    expect(textsOf(wide, "text").filter((label) => /^[\d,]+$/.test(label ?? ""))).toStrictEqual([
      "0",
      "2,000",
      "4,000",
      "6,000",
      "8,000",
      "10,000",
    ]);
    const times = (svg: string): number => textsOf(svg, "text").filter((label) => label?.includes(":")).length;
    expect([times(wide), times(narrow)]).toStrictEqual([9, 2]);
    expect(wide).toContain('<path class="line series-1" d="M');
  });

  test.each([[[0]], [[0, 0]]])("of %j has no invalid numbers", (counts) => {
    for (const kind of ["bars", "lines"] as const) {
      const { text } = timeChart("", kind, { ...over, series: [{ name: "", color: "series-1", counts }] });
      expect(text).not.toMatch(/NaN|Infinity|undefined/);
    }
  });
});

test.each([
  [0, 0, "0%"],
  [1, 3, "33.3%"],
  [5, 5, "100%"],
])("A bar of %i of %i is %s long", (count, greatest, width) => {
  expect(shareBar(count, greatest).text).toContain(`width="${width}"`);
});
