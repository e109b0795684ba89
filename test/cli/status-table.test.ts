// The table of `wafsync status` on a terminal, whose lines do not wrap.
import { expect, test } from "@jest/globals";
import { fitted } from "../../src/cli/status-command.ts";
import type { InstanceSummary } from "../../src/kinds/summary.ts";

const row = (name: string, domain: string) =>
  ({ instance: name, domain, ready: "True", reason: "Ready" }) as InstanceSummary;

test("names and then domains are shortened as far as the terminal requires", () => {
  const rows = [row(`shop/${"n".repeat(63)}`, "a.example"), row("shop/b", `${"d".repeat(40)}.example`)];
  expect(fitted(rows, 1_000)).toStrictEqual(rows);
  const [first, second] = fitted(rows, 150);
  expect(first?.instance).toMatch(/^shop\/n+…$/);
  expect(second).toStrictEqual(rows[1]);
  const [, narrow] = fitted(rows, 100);
  expect(narrow?.domain).toMatch(/^d+…$/);
  expect(narrow?.instance).toBe("shop/b");
});
