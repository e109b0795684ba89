import { expect, test } from "@jest/globals";
import { isOlderVersion } from "../../src/kube/kube-object.ts";

test("decimal versions are ordered by their value, however long", () => {
  expect(isOlderVersion("999", "1000")).toBe(true);
  expect(isOlderVersion("1000", "999")).toBe(false);
  expect(isOlderVersion("1000", "1000")).toBe(false);
  expect(isOlderVersion("99999999999999999998", "99999999999999999999")).toBe(true);
});

test("anything else has no order", () => {
  for (const other of ["", "0", "007", "abc", "1.5", "-3"]) {
    expect(isOlderVersion(other, "10")).toBe(false);
    expect(isOlderVersion("10", other)).toBe(false);
  }
});
