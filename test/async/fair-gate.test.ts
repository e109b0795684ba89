import { expect, test } from "@jest/globals";
import { FairGate } from "../../src/async/fair-gate.ts";

test("groups take turns, concurrency is limited, and a failure frees its slot", async () => {
  const gate = new FairGate({ atOnceMax: 2 });
  const begun: string[] = [];
  let [running, most] = [0, 0];
  const act = (name: string) => async (): Promise<void> => {
    begun.push(name);
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => void setImmediate(resolve));
    running -= 1;
    if (name === "a1") throw new Error("failed");
  };
  const many = ["a0", "a1", "a2", "a3", "a4"].map(async (name) => await gate.run("a", act(name)));
  const other = gate.run("b", act("b0"));
  const ended = await Promise.allSettled([...many, other]);
  expect(begun).toStrictEqual(["a0", "a1", "a2", "b0", "a3", "a4"]);
  expect(most).toBe(2);
  expect(ended.filter(({ status }) => status === "rejected")).toHaveLength(1);
  await gate.run("c", act("c0"));
  expect(begun.at(-1)).toBe("c0");
});

test("an action that goes first waits only for running actions", async () => {
  const gate = new FairGate({ atOnceMax: 1 });
  const begun: string[] = [];
  const act = (name: string) => async (): Promise<void> => {
    begun.push(name);
    await new Promise<void>((resolve) => void setImmediate(resolve));
  };
  const many = ["a0", "a1", "b0"].map(async (name) => await gate.run(name.slice(0, 1), act(name)));
  const owners = ["c0", "c1", "d0"].map(
    async (name) => await gate.run(name.slice(0, 1), act(name), { goesFirst: true }),
  );
  await Promise.all([...many, ...owners]);
  expect(begun).toStrictEqual(["a0", "c0", "d0", "c1", "a1", "b0"]);
});

test("a group uses only its share, even if no other group is waiting", async () => {
  const gate = new FairGate({ atOnceMax: 3, ofGroupMax: 2 });
  const begun: string[] = [];
  const hanging = Promise.withResolvers<void>();
  const many = ["a0", "a1", "a2"].map(
    async (name) =>
      await gate.run("a", async () => {
        begun.push(name);
        await hanging.promise;
      }),
  );
  await gate.run("b", async () => void begun.push("b0"));
  expect(begun).toStrictEqual(["a0", "a1", "b0"]);
  hanging.resolve();
  await Promise.all(many);
  expect(begun).toStrictEqual(["a0", "a1", "b0", "a2"]);
});
