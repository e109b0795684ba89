// Stores feeds in files: `feeds/<namespace>/<name>/state.json`, and the entries in a separate file, to which the state refers by
// its digest. The entries are written first, so that a crash in between has no effect.
import type { ObjectName } from "../../model/resource.ts";
import type { FeedState } from "../../plan/feeds/feed-state.ts";
import { decodeFeedState, encodeFeed, withContent } from "../feed-record.ts";
import { objectFileName } from "./object-file-name.ts";
import type { FilePath, StateDirectory } from "./state-directory.ts";

const folder = "feeds";
const stateFile = "state.json";
const stateBytesMax = 1024 * 1024;
/** Enough for a million entries with their expiries. */
const contentBytesMax = 64 * 1024 * 1024;

export type LoadedFeed =
  | { readonly ok: true; readonly state: FeedState | undefined }
  | { readonly ok: false; readonly problem: string };

export interface FeedFiles {
  load(feed: ObjectName): Promise<LoadedFeed>;
  /** Undefined on success, otherwise the reason. */
  save(feed: ObjectName, state: FeedState): Promise<string | undefined>;
}

/** Removes the stored data of all other feeds. Undefined on success, otherwise the reason. */
export async function removeOtherFeeds(
  directory: StateDirectory,
  kept: readonly ObjectName[],
): Promise<string | undefined> {
  const keptFolders = new Set(kept.map((feed) => fileOf(feed).join("/")));
  for (const path of await foldersBelow(directory, [[folder]], 2)) {
    if (keptFolders.has(path.join("/"))) continue;
    // The state is deleted first: entries without a state are ignored.
    for (const file of [stateFile, ...(await namesIn(directory, path))]) {
      const removed = await directory.remove([...path, file]);
      if (!removed.ok) return removed.problem;
    }
  }
  return undefined;
}

async function foldersBelow(
  directory: StateDirectory,
  paths: readonly FilePath[],
  depth: number,
): Promise<readonly FilePath[]> {
  if (depth === 0) return paths;
  const below: FilePath[] = [];
  for (const path of paths) for (const name of await namesIn(directory, path)) below.push([...path, name]);
  return await foldersBelow(directory, below, depth - 1);
}

async function namesIn(directory: StateDirectory, path: FilePath): Promise<readonly string[]> {
  const listed = await directory.list(path);
  return listed.ok ? listed.value : [];
}

export function createFeedFiles(state: StateDirectory): FeedFiles {
  return {
    load: async (feed) => await loadFeed(state, feed),
    save: async (feed, next) => await saveFeed(state, feed, next),
  };
}

async function loadFeed(directory: StateDirectory, feed: ObjectName): Promise<LoadedFeed> {
  const file = fileOf(feed, stateFile);
  const read = await directory.read(file, stateBytesMax);
  if (!read.ok) return read;
  if (read.value === undefined) return { ok: true, state: undefined };
  const decoded = decodeFeedState(read.value);
  // A damaged file counts as absent, because the feed can be fetched again.
  if (!decoded.ok) return { ok: true, state: undefined };
  const { state, contentDigest } = decoded;
  if (contentDigest === undefined) return { ok: true, state };
  const text = await directory.read(fileOf(feed, contentName(contentDigest)), contentBytesMax);
  return text.ok ? { ok: true, state: withContent(state, contentDigest, text.value ?? "") } : text;
}

async function saveFeed(directory: StateDirectory, feed: ObjectName, state: FeedState): Promise<string | undefined> {
  const { stateText, content } = encodeFeed(state);
  const before = await directory.list(fileOf(feed));
  if (!before.ok) return before.problem;
  const kept = content === undefined ? undefined : contentName(content.digest);
  if (content !== undefined && kept !== undefined) {
    const known = await directory.read(fileOf(feed, kept), contentBytesMax);
    const isWhole = known.ok && known.value === content.text;
    const written = isWhole ? undefined : await directory.write(fileOf(feed, kept), content.text);
    if (written?.ok === false) return written.problem;
  }
  const written = await directory.write(fileOf(feed, stateFile), stateText);
  if (!written.ok) return written.problem;
  for (const name of before.value) {
    if (name !== stateFile && name !== kept) await directory.remove(fileOf(feed, name));
  }
  return undefined;
}

function contentName(digest: string): string {
  return `entries-${digest}.txt`;
}

function fileOf({ namespace, name }: ObjectName, ...file: readonly string[]): FilePath {
  return [folder, namespace, objectFileName(name).replace(/\.yaml$/u, ""), ...file];
}
