import { expect, test } from "@jest/globals";
import { processorTimes, stolenShare } from "./stolen-time.ts";

test("The stolen share is that of the time in which programs wanted to run", () => {
  const at = (line: string) => processorTimes(() => line);
  const before = at("cpu  100 10 20 5000 30 4 6 10 0 0");
  expect(before).toStrictEqual({ busy: 140, stolen: 10 });
  expect(stolenShare(before, at("cpu  160 10 30 9000 90 4 6 40 0 0"))).toBe(0.3);
  expect(stolenShare(before, before)).toBe(0);
});

test("Nothing is stolen where the system does not tell", () => {
  expect(processorTimes(() => "")).toStrictEqual({ busy: 0, stolen: 0 });
});
