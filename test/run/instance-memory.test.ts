import { describe, expect, test } from "@jest/globals";
import { InstanceMemory, olderRefusalsMax } from "../../src/run/instance-memory.ts";

describe("The memory of refusals beyond the inventory", () => {
  const refused = (index: number, refusedAtMs: number) => ({
    operation: `blocklist +entry-${index}`,
    message: "limit reached",
    refusedAtMs,
    wantedBy: "",
  });

  test("has no limit within a run, which would otherwise retry the same entries endlessly", () => {
    const memory = new InstanceMemory();
    for (let index = 0; index < olderRefusalsMax + 100; index += 1) {
      memory.noteRefusal(refused(index, 1_000), 1_000, 1_000);
    }
    expect(memory.olderRefusals.size).toBe(olderRefusalsMax + 100);
    // The next run forgets the oldest, and retries them once.
    memory.noteRefusal(refused(0, 301_000), 301_000, 300_000);
    expect(memory.olderRefusals.size).toBe(olderRefusalsMax);
    expect(memory.olderRefusals.has("blocklist +entry-0")).toBe(true);
    expect(memory.olderRefusals.has("blocklist +entry-1")).toBe(false);
  });

  test("is forgotten after an hour", () => {
    const memory = new InstanceMemory();
    memory.noteRefusal(refused(0, 0), 0, 0);
    memory.noteRefusal(refused(1, 3_600_000), 3_600_000, 0);
    expect([...memory.olderRefusals.keys()]).toStrictEqual(["blocklist +entry-1"]);
  });
});
