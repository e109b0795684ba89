// What a test has started ends after it, whether it passes or fails.
import { afterEach } from "@jest/globals";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Calls this after the current test; what was started last ends first. */
export function atTestEnd(end: () => unknown): void {
  ends.push(end);
}
