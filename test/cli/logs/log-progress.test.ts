import { expect, test } from "@jest/globals";
import { LogProgress } from "../../../src/cli/logs/log-progress.ts";
import { LogWatch } from "../../../src/cli/logs/log-watch.ts";
import type { Terminal } from "../../../src/cli/terminal.ts";
import { dayNumber } from "../../support/worlds/log-world.ts";

function screen(isInteractive: boolean): {
  terminal: Terminal;
  texts: string[];
  clock: { monotonicMs: () => number };
  pass: (ms: number) => void;
} {
  const texts: string[] = [];
  let nowMs = 0;
  const terminal = {
    isInteractive,
    columns: 100,
    write: (text: string) => void texts.push(text.replaceAll("\r\u001B[2K", "")),
    line: (text = "") => void texts.push(`${text}\n`),
  };
  const clock = { monotonicMs: () => nowMs };
  return { terminal, texts, clock, pass: (ms) => void (nowMs += ms) };
}

test("on a terminal the line shows the day, the rows, their pace and the time that is left", () => {
  const { terminal, texts, clock, pass } = screen(true);
  const progress = new LogProgress(terminal, clock);
  progress.expect(250_000);
  pass(2_000);
  progress.advance(50_000, "2026-06-10");
  expect(texts.at(-1)).toBe("2026-06-10 █████░░░░░░░░░░░░░░░░░░░ 50,000/250,000 rows 20 %  25,000/s  8 s left");
  progress.clear();
  expect(texts.at(-1)).toBe("");
});

test("elsewhere a plain line comes every few seconds, and rows that come late do not make it more than all", () => {
  const { terminal, texts, clock, pass } = screen(false);
  const progress = new LogProgress(terminal, clock);
  progress.expect(100);
  progress.advance(60, "2026-06-10");
  expect(texts).toEqual([]);
  pass(6_000);
  progress.advance(60, "2026-06-11");
  expect(texts).toEqual(["2026-06-11 120/120 rows 100 %  20/s\n"]);
});

test("a long wait is told with its reason, a short one is not", () => {
  const { terminal, texts } = screen(false);
  const watch = new LogWatch(terminal, undefined);
  watch.waiting({ day: 1, why: "RepeatedPage", delayMs: 900 });
  watch.waiting({ day: 1, why: { code: "Unavailable", message: "The WAF answered 502." }, delayMs: 4_200 });
  watch.waiting({ day: 1, why: "RepeatedPage", delayMs: 1_000 });
  expect(texts).toEqual([
    "The WAF answered 502. Retrying in 5 s.\n",
    "The WAF sent the same page of logs twice. Retrying in 1 s.\n",
  ]);
});

test("broken and missing entries are told, and make the whole incomplete", () => {
  const { terminal, texts } = screen(false);
  const watch = new LogWatch(terminal, undefined);
  const day = dayNumber("2026-06-10");
  watch.dayDone(day, { came: 5, total: 5, broken: [], brokenCount: 0 });
  expect([watch.isWhole, texts]).toEqual([true, []]);
  const broken = [1, 2, 3, 4].map((position) => ({ position, problem: "is not an object" }));
  watch.dayDone(day, { came: 5, total: 7, broken, brokenCount: 4 });
  expect(watch.isWhole).toBe(false);
  expect(texts).toEqual([
    "warning: 2026-06-10: 4 malformed entries are skipped (entry 1: is not an object; entry 2: is not an object; entry 3: is not an object; …)\n",
    "warning: 2026-06-10: the WAF announces 7 entries but sends 5\n",
  ]);
});
