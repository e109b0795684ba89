import { expect, test } from "@jest/globals";
import { unknownOwners } from "../../../src/model/entry-owners.ts";
import type { HistoryEvent } from "../../../src/model/history.ts";
import { createHistoryFiles, historyFileBytesMax } from "../../../src/source/directory/history-files.ts";
import type { HistoryFiles } from "../../../src/source/directory/history-files.ts";
import { openStateDirectory } from "../../../src/source/directory/state-directory.ts";
import { addresses } from "../../support/builders/declare.ts";
import { createVirtualClock } from "../../support/fakes/virtual-clock.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "../../support/worlds/scratch-directory.ts";

const nowMs = Date.UTC(2026, 10, 22);
const main = { namespace: "shop", name: "main" };
const front = { namespace: "edge", name: "front" };

function anEvent(values: readonly string[], atMs = nowMs): HistoryEvent {
  return { atMs, kind: "Added", target: "blocklist", values, owners: unknownOwners, note: "" };
}

async function open(scratch: ScratchDirectory): Promise<HistoryFiles> {
  const opened = await openStateDirectory({ path: scratch.path, command: "wafsync run", clock: createVirtualClock() });
  if (!opened.ok) throw new Error(opened.problem);
  return createHistoryFiles(opened.state);
}

async function valuesOf(files: HistoryFiles, instance = main): Promise<readonly string[]> {
  const read = await files.read(instance, nowMs);
  return read.ok ? read.value.flatMap(({ values }) => values) : [read.problem];
}

test("The history in a folder drops its oldest events when it is too long", async () => {
  await using scratch = await scratchDirectory();
  const files = await open(scratch);
  for (let batch = 0; batch < 400; batch += 1) {
    expect(await files.append(main, [anEvent(addresses(500, batch * 500))])).toMatchObject({ ok: true });
  }
  const kept = await valuesOf(files);
  expect(kept.at(-1)).toBe(addresses(1, 199_999)[0]);
  expect(kept.length).toBeGreaterThan(60_000);
  const length = kept.join(" ").length;
  expect(length).toBeLessThan(2 * historyFileBytesMax);
});

test("The history of an instance is prepended to that of the instance that continues it", async () => {
  await using scratch = await scratchDirectory();
  const files = await open(scratch);
  await files.append(front, [anEvent(["192.0.2.9"])]);
  expect(await files.takeOver(front, main, nowMs)).toMatchObject({ ok: true });
  // As much as two files contain, the second of which has been started.
  for (let batch = 0; batch < 100; batch += 1) {
    await files.append(main, [anEvent(addresses(500, batch * 500), nowMs - 1000)]);
  }
  const former = await valuesOf(files);
  expect(await files.takeOver(front, main, nowMs)).toMatchObject({ ok: true });
  expect(await valuesOf(files, front)).toStrictEqual([...former, "192.0.2.9"]);
  expect(await valuesOf(files)).toStrictEqual([]);
  await files.append(front, [anEvent(["192.0.2.10"])]);
  expect((await valuesOf(files, front)).slice(-2)).toStrictEqual(["192.0.2.9", "192.0.2.10"]);
});
