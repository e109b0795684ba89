import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import type { Entry } from "../../../src/model/entry.ts";
import type { SeenLists } from "../../../src/model/observed.ts";
import { createSeenFiles } from "../../../src/source/directory/seen-files.ts";
import { openStateDirectory } from "../../../src/source/directory/state-directory.ts";
import { createVirtualClock } from "../../support/fakes/virtual-clock.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

const main = { namespace: "shop", name: "main" };
const seen: SeenLists = {
  domain: "shop.example",
  lists: { blocklist: new Set(["192.0.2.2", "192.0.2.1"] as Entry[]), allowlist: new Set() },
};

describe("The stored contents of the lists", () => {
  test("are kept for the next command, and dropped before anything is written", async () => {
    await using scratch = await scratchDirectory();
    const opened = await openStateDirectory({
      path: scratch.path,
      command: "wafsync run",
      clock: createVirtualClock(),
    });
    if (!opened.ok) throw new Error(opened.problem);
    const files = createSeenFiles(opened.state);
    expect(await files.read(main)).toBeUndefined();
    expect(await files.forget(main)).toMatchObject({ ok: true });
    expect(await files.write(main, seen)).toMatchObject({ ok: true });
    expect(await files.read(main)).toStrictEqual(seen);
    expect(await files.forget(main)).toMatchObject({ ok: true });
    expect(await files.read(main)).toBeUndefined();
    await opened.state.release();
  });

  test("count as unknown if the file is damaged, or belongs to another instance", async () => {
    await using scratch = await scratchDirectory();
    const opened = await openStateDirectory({
      path: scratch.path,
      command: "wafsync run",
      clock: createVirtualClock(),
    });
    if (!opened.ok) throw new Error(opened.problem);
    const files = createSeenFiles(opened.state);
    await files.write(main, seen);
    const path = opened.state.pathOf(["seen", "shop", "main.json"]);
    const text = await readFile(path, "utf8");
    const damaged = [
      "",
      "null",
      text.slice(0, -4),
      text.replace("shop/main", "shop/other"),
      text.replace('"192.0.2.1"', "1"),
      text.replace("192.0.2.1", "192.0.2.1 x"),
      text.replace('"allowlist": []', '"allowlist": {}'),
    ];
    for (const content of damaged) {
      await writeFile(path, content);
      expect([content, await files.read(main)]).toStrictEqual([content, undefined]);
    }
    await opened.state.release();
  });
});
