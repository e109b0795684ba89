import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { afterFetch, type FeedState, initialFeedState } from "../../../src/plan/feeds/feed-state.ts";
import { createFeedFiles } from "../../../src/source/directory/feed-files.ts";
import { openStateDirectory } from "../../../src/source/directory/state-directory.ts";
import { aFeed, aReading, someAddresses, textFacts } from "../../support/builders/declare-feed.ts";
import { createVirtualClock } from "../../support/fakes/virtual-clock.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

function fetched(): FeedState {
  const outcome = { kind: "Read", reading: aReading(someAddresses(2)), facts: textFacts() } as const;
  return afterFetch(initialFeedState(aFeed()), aFeed(), outcome, { nowMs: 0, random: 0 });
}

test.each(["state.json", "entries-"])(
  "A damaged file %s counts as absent, so that the feed is fetched and stored again",
  async (damaged) => {
    await using scratch = await scratchDirectory();
    const opened = await openStateDirectory({
      path: scratch.path,
      command: "wafsync run",
      clock: createVirtualClock(),
    });
    if (!opened.ok) throw new Error(opened.problem);
    const { meta } = aFeed();
    const files = createFeedFiles(opened.state);
    const state = fetched();
    expect(await files.save(meta, state)).toBeUndefined();
    const folder = opened.state.pathOf(["feeds", "shop", "threats"]);
    const name = (await readdir(folder)).find((file) => file.startsWith(damaged)) ?? "";
    await writeFile(join(folder, name), "192.0.2.1\n");
    expect(await files.load(meta)).toStrictEqual({ ok: true, state: undefined });
    expect(await files.save(meta, state)).toBeUndefined();
    expect(await files.load(meta)).toMatchObject({ ok: true, state: { good: { content: state.good?.content } } });
    await opened.state.release();
  },
);
