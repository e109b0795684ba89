import { expect, test } from "@jest/globals";
import { mapConcurrently } from "../../src/async/map-concurrently.ts";

test("every item is processed once, in order, and with limited concurrency", async () => {
  const begun: number[] = [];
  let atOnce = 0;
  let most = 0;
  const items = Array.from({ length: 20 }, (_, index) => index);
  await mapConcurrently(items, 3, async (item) => {
    begun.push(item);
    atOnce += 1;
    most = Math.max(most, atOnce);
    await Promise.resolve();
    atOnce -= 1;
  });
  expect(begun).toStrictEqual(items);
  expect(most).toBe(3);
});

test("the first failure rejects, and no further item is started", async () => {
  const begun: number[] = [];
  const act = async (item: number): Promise<void> => {
    begun.push(item);
    await Promise.resolve();
    if (item === 1) throw new Error("the second one fails");
  };
  await expect(mapConcurrently([0, 1, 2, 3, 4, 5, 6, 7], 2, act)).rejects.toThrow("the second one fails");
  expect(begun.length).toBeLessThan(5);
});
