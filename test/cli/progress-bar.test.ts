import { expect, test } from "@jest/globals";
import { ProgressBar } from "../../src/cli/progress-bar.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

interface Screen {
  readonly terminal: Terminal;
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
    terminal: { isInteractive, columns, write, line: (line = "") => write(`${line}\n`) },
    written: () => text,
    current: () => text.split("\u001B[2K").at(-1) ?? "",
  };
}

test("On a terminal one line shows how much is done, how fast, and how long it still takes", async () => {
  const clock = createVirtualClock();
  const { terminal, current, written } = screen(true);
  const bar = new ProgressBar(terminal, clock, "shop/main");
  for (let done = 1; done <= 50; done += 1) {
    await clock.advance(100);
    bar.advance(200 - done);
  }
  expect(current()).toBe(`shop/main ${"█".repeat(7)}${"░".repeat(21)} 50/200 25 %  10/s  15 s left`);
  expect(written()).not.toContain("\n");
  bar.end();
  expect(written().endsWith("10/s  15 s left\n\n")).toBe(true);
});

test("A line is never longer than the terminal is wide, so that it can be redrawn in place", async () => {
  const clock = createVirtualClock();
  const { terminal, current } = screen(true, 40);
  const bar = new ProgressBar(terminal, clock, "shop/main");
  await clock.advance(1000);
  bar.advance(9);
  bar.wait("waiting 60 s: the API asked to slow down and said for how long");
  expect(current()).toHaveLength(39);
});

test("A wait is shown until the next call is done", async () => {
  const clock = createVirtualClock();
  const { terminal, current } = screen(true);
  const bar = new ProgressBar(terminal, clock, "shop/main");
  await clock.advance(1000);
  bar.advance(9);
  bar.wait("waiting 60 s");
  expect(current()).toContain("  waiting 60 s");
  await clock.advance(60_000);
  bar.advance(8);
  expect(current()).not.toContain("waiting");
});

test("Nothing stays on the terminal of a wait before the first call", async () => {
  const clock = createVirtualClock();
  const { terminal, current, written } = screen(true);
  const bar = new ProgressBar(terminal, clock, "shop/main");
  bar.wait("waiting 2 s: no connection");
  expect(current()).toBe("shop/main  waiting 2 s: no connection");
  bar.end();
  expect(current()).toBe("");
  expect(written()).not.toContain("\n");
});

test("Elsewhere there is a plain line every five seconds, without anything that moves the cursor", async () => {
  const clock = createVirtualClock();
  const { terminal, written } = screen(false);
  const bar = new ProgressBar(terminal, clock, "shop/main");
  for (let done = 1; done <= 120; done += 1) {
    await clock.advance(100);
    bar.advance(120 - done);
  }
  bar.end();
  expect(written()).toBe("shop/main 50/120 41 %  10/s  7 s left\nshop/main 100/120 83 %  10/s  2 s left\n");
});
