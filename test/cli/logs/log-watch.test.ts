import { expect, test } from "@jest/globals";
import { LogWatch } from "../../../src/cli/logs/log-watch.ts";
import { dayNumber } from "../../support/worlds/log-world.ts";

function screen() {
  const texts: string[] = [];
  return { terminal: { line: (text = "") => void texts.push(`${text}\n`) }, texts };
}

test("a long wait is reported with its reason, a short one is not", () => {
  const { terminal, texts } = screen();
  const watch = new LogWatch(terminal, undefined);
  const repeated = { code: "ContractBroken", message: "The WAF sent the same page of logs twice." } as const;
  watch.waiting({ day: 1, why: repeated, delayMs: 900 });
  watch.waiting({ day: 1, why: { code: "Unavailable", message: "The WAF answered 502." }, delayMs: 4_200 });
  watch.waiting({ day: 1, why: repeated, delayMs: 1_000 });
  expect(texts).toStrictEqual([
    "The WAF answered 502. Retrying in 5 s.\n",
    "The WAF sent the same page of logs twice. Retrying in 1 s.\n",
  ]);
});

test("malformed, missing and disappeared entries are reported, and make the result incomplete", () => {
  const { terminal, texts } = screen();
  const watch = new LogWatch(terminal, undefined);
  const day = dayNumber("2026-06-10");
  watch.dayDone(day, { came: 5, total: 5, broken: [], brokenCount: 0, surplus: 0 });
  expect([watch.isWhole, texts]).toStrictEqual([true, []]);
  const broken = [1, 2, 3].map((position) => ({ position, problem: "is not an object" }));
  watch.dayDone(day, { came: 5, total: 7, broken, brokenCount: 4, surplus: 2 });
  expect(watch.isWhole).toBe(false);
  expect(texts).toStrictEqual([
    "warning: 2026-06-10: 4 malformed entries are skipped (entry 1: is not an object; entry 2: is not an object; entry 3: is not an object; …)\n",
    "warning: 2026-06-10: the WAF announced 7 entries but sent 5\n",
    "warning: 2026-06-10: 2 entries are in an earlier response of the WAF but not in its last one, and may be duplicates\n",
  ]);
});
