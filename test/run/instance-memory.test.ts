import { describe, expect, test } from "@jest/globals";
import type { Entry } from "../../src/address/entry.ts";
import { InstanceMemory, olderRefusalsMax, removedMax } from "../../src/run/instance-memory.ts";

function removal(entry: string) {
  return { kind: "RemoveEntry", list: "blocklist", entry: entry as Entry, spelling: entry, reason: "" } as const;
}

function addition(entry: string) {
  return { kind: "AddEntry", list: "blocklist", entry: entry as Entry, rules: ["edge/one"], reason: "" } as const;
}

describe("The memory of wafsync's own removals", () => {
  test("has a limit for each list, beyond which the oldest are forgotten", () => {
    const memory = new InstanceMemory();
    for (let index = 0; index <= removedMax; index += 1) memory.noteWrite(removal(`entry-${index}`), index);
    const { blocklist, allowlist } = memory.removed;
    expect([blocklist.size, allowlist.size]).toStrictEqual([removedMax, 0]);
    expect([blocklist.has("entry-0" as Entry), blocklist.has("entry-1" as Entry)]).toStrictEqual([false, true]);
  });

  test("counts an entry that is removed again as the newest", () => {
    const memory = new InstanceMemory();
    for (let index = 0; index < removedMax; index += 1) memory.noteWrite(removal(`entry-${index}`), index);
    memory.noteWrite(removal("entry-0"), 0);
    memory.noteWrite(removal("another"), 0);
    expect(memory.removed.blocklist.has("entry-0" as Entry)).toBe(true);
    expect(memory.removed.blocklist.has("entry-1" as Entry)).toBe(false);
  });

  test("forgets an entry that is added again, and says when the rule changed", () => {
    const memory = new InstanceMemory();
    memory.noteWrite(removal("192.0.2.1"), 1);
    memory.noteWrite(addition("192.0.2.1"), 2);
    expect(memory.removed.blocklist.size).toBe(0);
    expect(memory.ruleChangedMs.get("edge/one")).toBe(2);
  });
});

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
