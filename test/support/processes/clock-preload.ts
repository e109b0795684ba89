// Preloaded into the program that users start, by wafsync-process.ts: its wall clock is WAFSYNC_TEST_LATER_MS ahead, and its timers
// and its monotonic clock run WAFSYNC_TEST_HASTE times as fast.
const laterMs = Number(process.env["WAFSYNC_TEST_LATER_MS"] ?? 0);
const haste = Number(process.env["WAFSYNC_TEST_HASTE"] ?? 1);
const wallMs = Date.now.bind(Date);
const monotonicMs = performance.now.bind(performance);
const startMs = monotonicMs();
const schedule = globalThis.setTimeout;

Date.now = () => wallMs() + laterMs;
performance.now = () => startMs + (monotonicMs() - startMs) * haste;
Object.assign(globalThis, {
  setTimeout: (act: () => void, delayMs = 0, ...given: []) => schedule(act, delayMs / haste, ...given),
});
