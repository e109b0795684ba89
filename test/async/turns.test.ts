import { describe, expect, test } from "@jest/globals";
import { Turns } from "../../src/async/turns.ts";

describe("Turns", () => {
  test("run one after another, in order", async () => {
    const turns = new Turns();
    const told: string[] = [];
    const open = Promise.withResolvers<void>();
    const first = turns.run(async () => {
      told.push("first begins");
      await open.promise;
      told.push("first ends");
    });
    const second = turns.run(async () => void told.push("second"));
    open.resolve();
    await Promise.all([first, second, turns.ended()]);
    expect(told).toStrictEqual(["first begins", "first ends", "second"]);
  });

  test("continue after a failure, which only its caller receives", async () => {
    const turns = new Turns();
    const failed = turns.run(async () => await Promise.reject(new Error("broken")));
    await expect(failed).rejects.toThrow("broken");
    await expect(turns.ended()).resolves.toBeUndefined();
    expect(await turns.run(async () => 2)).toBe(2);
  });
});
