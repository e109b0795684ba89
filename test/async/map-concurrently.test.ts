import { expect, test } from "@jest/globals";
import { fewAtATime } from "../../src/async/map-concurrently.ts";

test("every item is done once, in order, and never more at once than allowed", async () => {
  const begun: number[] = [];
  let atOnce = 0;
  let most = 0;
  const items = Array.from({ length: 20 }, (_, index) => index);
  await fewAtATime(items, 3, async (item) => {
    begun.push(item);
    atOnce += 1;
    most = Math.max(most, atOnce);
    await Promise.resolve();
    atOnce -= 1;
  });
  expect(begun).toEqual(items);
  expect(most).toBe(3);
});

test("the first failure is told, and nothing is begun after it", async () => {
  const begun: number[] = [];
  const act = async (item: number): Promise<void> => {
    begun.push(item);
    await Promise.resolve();
    if (item === 1) throw new Error("the second one fails");
  };
  await expect(fewAtATime([0, 1, 2, 3, 4, 5, 6, 7], 2, act)).rejects.toThrow("the second one fails");
  expect(begun.length).toBeLessThan(5);
});

test("no items are no work", async () => {
  await expect(fewAtATime([], 4, () => Promise.reject(new Error("called")))).resolves.toBeUndefined();
});
