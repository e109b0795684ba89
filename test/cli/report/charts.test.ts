import { describe, expect, test } from "@jest/globals";
import { rankChart, timeChart } from "../../../src/cli/report/charts.ts";

const hourMs = 3_600_000;

describe("a chart", () => {
  const bars = {
    startMs: Date.parse("2026-11-21T00:00:00Z"),
    barMs: hourMs,
    series: [
      { name: "SQL <b>", color: "var(--series-1)", counts: [1_200, 0, 3] },
      { name: "Other", color: "var(--series-other)", counts: [0, 0, 1] },
    ],
  };

  test("has a tooltip on each bar, and no styles, classes or data of the library", () => {
    const { wide, narrow } = timeChart(bars);
    for (const svg of [wide, narrow]) {
      expect(
        [...svg.matchAll(/<title>(?<tooltip>.*?)<\/title>/g)].map(({ groups }) => groups?.["tooltip"]),
      ).toStrictEqual([
        "11-21 00:00: 1,200 SQL &lt;b&gt; (of 1,200)",
        "11-21 02:00: 3 SQL &lt;b&gt; (of 4)",
        "11-21 02:00: 1 Other (of 4)",
      ]);
      expect(svg).not.toMatch(/style|ecmeta|class="(?!bar")/);
    }
  });

  test("of ranked rows shows the first twelve, and counts the others", () => {
    const rows = Array.from({ length: 15 }, (_, place) => ({ label: `<i>${place}`, count: 100 - place }));
    const { wide, left } = rankChart(rows);
    expect(wide.match(/<title>/g)).toHaveLength(12);
    expect(wide).not.toContain("<i>");
    expect(left).toStrictEqual({ rows: 3, count: 88 + 87 + 86 });
  });

  test.each(["W", "漢", "😀", "i"])("truncates a label of many %j between characters", (character) => {
    const [, label = ""] =
      /<text[^>]*>(?<label>[^<]*…)</u.exec(rankChart([{ label: character.repeat(90), count: 1 }]).wide) ?? [];
    expect(label).toMatch(new RegExp(`^(?:${character})+…$`, "u"));
  });
});
