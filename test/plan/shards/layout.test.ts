import { expect, test } from "@jest/globals";
import { nextLayout, parseLayout } from "../../../src/plan/shards/layout.ts";

const step = { own: 3, found: undefined, isUnused: false, pendingMs: 0, waitMs: 30_000 };

test("a Lease without the annotation belongs to a version or a configuration without sharding", () => {
  expect(parseLayout(undefined)).toStrictEqual({ shards: 1, isPending: false });
  expect(nextLayout({ ...step, own: 1 })).toBeUndefined();
});

test.each(["", "0", "-3", "3.5", "three", "3 soon", "1000", "pending"])("with %j, no process may write", (text) => {
  expect(parseLayout(text).isPending).toBe(true);
  expect(nextLayout({ ...step, found: text })).toBe("3 pending");
});

test("another number is first pending, and agreed on once a Lease would have expired", () => {
  expect(nextLayout({ ...step, found: "5" })).toBe("3 pending");
  expect(nextLayout({ ...step, found: "5 pending", pendingMs: 60_000 })).toBe("3 pending");
  expect(nextLayout({ ...step, found: "3 pending", pendingMs: 29_999 })).toBeUndefined();
  expect(nextLayout({ ...step, found: "3 pending", pendingMs: 30_000 })).toBe("3");
  expect(nextLayout({ ...step, found: "3" })).toBeUndefined();
});

test("sharding begins immediately if the former leader has released the Lease, and ends like any other change", () => {
  expect(nextLayout({ ...step, isUnused: true })).toBe("3");
  expect(nextLayout(step)).toBe("3 pending");
  expect(nextLayout({ ...step, own: 1, found: "3", isUnused: true })).toBe("1 pending");
  expect(nextLayout({ ...step, own: 1, found: "1 pending", pendingMs: 30_000 })).toBe("1");
});
