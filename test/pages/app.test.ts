import { expect, test } from "@jest/globals";
import type { Seen, Target } from "../../src/cli/targets/target.ts";
import { Redactor } from "../../src/model/redactor.ts";
import { StatePages } from "../../src/pages/app.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const seen: Seen = { atMs: 0, where: "", objects: [], refused: undefined, gaps: [] };

test("Objects are read once for all requests within two seconds, and again afterwards or after a failure", async () => {
  const clock = createVirtualClock();
  let reads = 0;
  const see = async (): Promise<Seen> => {
    reads += 1;
    if (reads === 3) throw new TypeError("The connection is lost.");
    return await Promise.resolve(seen);
  };
  const target = { see, redactor: new Redactor() } as unknown as Target;
  const app = new StatePages({ target, isCluster: true, wordsOf: () => "", words: "", clock });
  const open = async () => await app.handle({ path: "/", query: new URLSearchParams() });
  await Promise.all([open(), open()]);
  await clock.advance(1_999);
  await open();
  expect(reads).toBe(1);
  await clock.advance(1);
  await open();
  expect(reads).toBe(2);
  await clock.advance(2_000);
  await expect(open()).rejects.toThrow("The connection is lost.");
  expect((await open()).status).toBe(200);
  expect(reads).toBe(4);
});
