import { expect, test } from "@jest/globals";
import { StatusLine } from "../../src/cli/status-line.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

interface Screen {
  readonly terminal: ConstructorParameters<typeof StatusLine>[0];
  readonly written: () => string;
  /** The last state of the line that is being redrawn. */
  readonly current: () => string;
}

function screen(isInteractive: boolean, columns = 100): Screen {
  let text = "";
  const write = (more: string): void => {
    text += more;
  };
  return {
    terminal: {
      isInteractive,
      columns,
      write,
      line: (line = "") => write(`${line}\n`),
    },
    written: () => text,
    current: () => text.split("\u001B[2K").at(-1) ?? "",
  };
}

test("On a terminal, one line shows the progress, the rate and the remaining time", async () => {
  const clock = createVirtualClock();
  const { terminal, current, written } = screen(true);
  const line = new StatusLine(terminal, clock, { label: "shop/main" });
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
  const clock = createVirtualClock();
  const { terminal, current } = screen(true, 40);
  const line = new StatusLine(terminal, clock, { label: "shop/main" });
  await clock.advance(1000);
  line.advance(1, { left: 9 });
  line.wait("waiting 60 s: the API asked to slow down and said for how long");
  expect(current()).toHaveLength(39);
});

test("A wait is shown until the next call is done", async () => {
  const clock = createVirtualClock();
  const { terminal, current } = screen(true);
  const line = new StatusLine(terminal, clock, { label: "shop/main" });
  await clock.advance(1000);
  line.advance(1, { left: 9 });
  line.wait("waiting 60 s");
  expect(current()).toContain("  waiting 60 s");
  await clock.advance(60_000);
  line.advance(1, { left: 8 });
  expect(current()).not.toContain("waiting");
});

test("Without a terminal, a plain line is printed every five seconds, without cursor movements", async () => {
  const clock = createVirtualClock();
  const { terminal, written } = screen(false);
  const line = new StatusLine(terminal, clock, { label: "shop/main" });
  for (let done = 1; done <= 120; done += 1) {
    await clock.advance(100);
    line.advance(1, { left: 120 - done });
  }
  line.end();
  expect(written()).toBe("shop/main 50/120 41 %  10/s  7 s left\nshop/main 100/120 83 %  10/s  2 s left\n");
});

test("On a narrow terminal, the label shrinks; the rate and the remaining time stay", async () => {
  const clock = createVirtualClock();
  let columns = 100;
  const shown = screen(true);
  const terminal = {
    ...shown.terminal,
    get columns() {
      return columns;
    },
  };
  const line = new StatusLine(terminal, clock, { label: "shop/main" });
  const drawnAt = async (width: number): Promise<string> => {
    columns = width;
    await clock.advance(100);
    line.advance(10, { left: 3_000 });
    return shown.current();
  };
  await clock.advance(1000);
  await drawnAt(100);
  expect(await drawnAt(50)).toMatch(/^shop\/main 20\/3,020 0 % {2}\d+\/s {2}.* left$/);
  expect(await drawnAt(42)).toMatch(/^shop\S*… 30\/3,030 0 % {2}\d+\/s {2}.* left$/);
});
