// The feeds of a directory: declared in its files, with Secrets from these files, and stored in the state directory. Loaded with the
// first declared feed.
import type { SecretKeyRef } from "../model/declared-feed.ts";
import { nameKey } from "../model/resource.ts";
import { FeedRecords } from "../feeds/feed-records.ts";
import { FeedBook } from "../feeds/feed-book.ts";
import type { StatusPort } from "../reconcile/ports.ts";
import type { DirectorySource } from "../source/directory/directory-source.ts";
import { type FeedFetcherOptions, type SecretValue, FeedFetcher } from "../feeds/feed-fetcher.ts";
import { FeedLoop } from "../feeds/feed-loop.ts";
import type { OpenedStore } from "./standalone-store.ts";

export interface StandaloneFeeds {
  readonly book: FeedBook;
  readonly loop: FeedLoop;
}

export interface StandaloneFeedsOptions extends Omit<FeedFetcherOptions, "policy" | "readSecret"> {
  readonly feedPolicy: FeedFetcherOptions["policy"];
  readonly random: () => number;
}

export function openStandaloneFeeds(
  { feedPolicy: policy, clock, random, redactor, version }: StandaloneFeedsOptions,
  source: DirectorySource,
  store: OpenedStore,
  status: StatusPort,
): StandaloneFeeds {
  const readSecret = async (namespace: string, ref: SecretKeyRef): Promise<SecretValue> =>
    secretOf(source, namespace, ref);
  const { fetch, forget } = new FeedFetcher({ policy, readSecret, clock, redactor, version });
  const book = new FeedBook({ store: new FeedRecords(store.records), fetch, forget, status, clock, random });
  // The author of the files owns all of them, and a plan shows every feed.
  const feeds = () => ({ used: source.snapshot().feeds, unused: [] });
  return { book, loop: new FeedLoop({ book, feeds, clock }) };
}

function secretOf(source: DirectorySource, namespace: string, { name, key }: SecretKeyRef): SecretValue {
  const secretName = nameKey({ namespace, name });
  const secret = source.snapshot().secrets.get(secretName);
  if (secret === undefined) return { ok: false, problem: `Secret ${secretName} is not in the directory: add it.` };
  const value = secret.data.get(key);
  if (value === undefined) return { ok: false, problem: `Secret ${secretName} has no key ${key}: add it.` };
  return { ok: true, value };
}
