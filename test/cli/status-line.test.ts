import { expect, test } from "@jest/globals";
import { StatusLine } from "../../src/cli/status-line.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

/** A status line of the instance `shop/main`, and the screen that it is on. */
function lineOn({ isInteractive = true, columns = 100 }) {
  const clock = createVirtualClock();
  let text = "";
  const write = (more: string) => void (text += more);
  const terminal = { isInteractive, columns, write, line: (line = "") => write(`${line}\n`) };
  return {
    clock,
    terminal,
    line: new StatusLine(terminal, clock, { label: "shop/main" }),
    written: () => text,
    /** The last state of the line that is being redrawn. */
    current: () => text.split("\u001B[2K").at(-1) ?? "",
  };
}

test("On a terminal, one line shows the progress, the rate and the remaining time", async () => {
  const { clock, line, current, written } = lineOn({});
  for (let done = 1; done <= 50; done += 1) {
    await clock.advance(100);
    line.advance(1, { left: 200 - done });
  }
  expect(current()).toBe("shop/main 50/200 25 %  10/s  15 s left");
  expect(written()).not.toContain("\n");
  line.end();
  expect(written().endsWith("10/s  15 s left\n\n")).toBe(true);
});

test("A line always fits on the terminal, so that it can be redrawn in place", async () => {
  const { clock, line, current } = lineOn({ columns: 40 });
  await clock.advance(1000);
  line.advance(1, { left: 9 });
  line.wait("waiting 60 s: the API asked to slow down and said for how long");
  expect(current()).toHaveLength(39);
});

test("A wait is shown until the next call is done", async () => {
  const { clock, line, current } = lineOn({});
  await clock.advance(1000);
  line.advance(1, { left: 9 });
  line.wait("waiting 60 s");
  expect(current()).toContain("  waiting 60 s");
  await clock.advance(60_000);
  line.advance(1, { left: 8 });
  expect(current()).not.toContain("waiting");
});

test("Without a terminal, a plain line is printed every five seconds, without cursor movements", async () => {
  const { clock, line, written } = lineOn({ isInteractive: false });
  for (let done = 1; done <= 120; done += 1) {
    await clock.advance(100);
    line.advance(1, { left: 120 - done });
  }
  line.end();
  expect(written()).toBe("shop/main 50/120 41 %  10/s  7 s left\nshop/main 100/120 83 %  10/s  2 s left\n");
});

test("On a narrow terminal, the label shrinks; the rate and the remaining time stay", async () => {
  const { clock, terminal, line, current } = lineOn({});
  const drawnAt = async (columns: number): Promise<string> => {
    terminal.columns = columns;
    await clock.advance(100);
    line.advance(10, { left: 3_000 });
    return current();
  };
  await clock.advance(1000);
  await drawnAt(100);
  expect(await drawnAt(50)).toMatch(/^shop\/main 20\/3,020 0 % {2}\d+\/s {2}.* left$/);
  expect(await drawnAt(42)).toMatch(/^shop\S*… 30\/3,030 0 % {2}\d+\/s {2}.* left$/);
});
