// Runs the program at a later time: WAFSYNC_TEST_LATER_MS is the offset, and WAFSYNC_TEST_HASTE makes timers fire earlier.
// Only src/async/clock.ts reads the real time, so changing its clock changes the time of the whole program.
import { realClock } from "../../../src/async/clock.ts";

const laterMs = Number(process.env["WAFSYNC_TEST_LATER_MS"] ?? 0);
const haste = Number(process.env["WAFSYNC_TEST_HASTE"] ?? 1);
const schedule = realClock.schedule.bind(realClock);

Object.assign(realClock, {
  nowMs: () => Date.now() + laterMs,
  schedule: (delayMs: number, act: () => void) => schedule(delayMs / haste, act),
});

await import("../../../src/cli/main.ts");
