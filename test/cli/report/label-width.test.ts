import { describe, expect, test } from "@jest/globals";
import { fittingLabel, labelWidth } from "../../../src/cli/report/label-width.ts";

describe("a label", () => {
  test.each(["SQL Injection", "", "Remote Command Execution"])("%j stays unchanged if it fits", (text) => {
    expect(fittingLabel(text, 250)).toBe(text);
  });

  test.each(["W".repeat(60), "i".repeat(300), "漢".repeat(60), "😀".repeat(60), "a b ".repeat(50)])(
    "%j is truncated between characters to at most the width",
    (text) => {
      const label = fittingLabel(text, 200);
      expect(label.endsWith("…")).toBe(true);
      expect(text.startsWith(label.slice(0, -1))).toBe(true);
      expect(labelWidth(label)).toBeLessThanOrEqual(200);
      expect(labelWidth(label)).toBeGreaterThan(150);
      expect(label.isWellFormed()).toBe(true);
    },
  );
});
