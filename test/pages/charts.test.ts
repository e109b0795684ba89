import { describe, expect, test } from "@jest/globals";
import { timeChart } from "../../src/pages/charts.ts";

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
    const { text } = timeChart("Requests", over);
    expect(textsOf(text, "title")).toStrictEqual([
      "11-21 00:00: 1,200 SQL &lt;b&gt;\u{FFFD} (of 1,200)",
      "11-21 02:00: 3 SQL &lt;b&gt;\u{FFFD} (of 4)",
      "11-21 02:00: 1 Other (of 4)",
    ]);
    expect(text).not.toMatch(/style|\bon[a-z]+=/);
  });

  test("has a few round ticks, and only labels for which there is space", () => {
    const counts = Array.from({ length: 72 }, (_, step) => step * 137);
    const { text } = timeChart("Requests", { ...over, series: [{ name: "All", color: "series-1", counts }] });
    const labels = ["0", "2K", "4K", "6K", "8K", "10K", "11-21 00:00", "11-22 00:00", "11-23 00:00"];
    expect(new Set(textsOf(text, "text"))).toStrictEqual(new Set(labels));
  });

  test.each([[[0]], [[0, 0]]])("of %j has no invalid numbers", (counts) => {
    const { text } = timeChart("", { ...over, series: [{ name: "", color: "series-1", counts }] });
    expect(text).not.toMatch(/NaN|Infinity|undefined/);
  });
});
