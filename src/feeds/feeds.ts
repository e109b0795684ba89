// The feeds of a cluster or a folder: fetched, stored and reported. Over a folder, this is loaded with the first declared feed.
import { FeedBook, type FeedPorts } from "./feed-book.ts";
import { FeedFetcher, type FeedFetcherOptions } from "./feed-fetcher.ts";
import { FeedLoop, type FeedLoopOptions } from "./feed-loop.ts";
import { FeedRecords } from "./feed-records.ts";
import type { RecordStore } from "../records/record-store.ts";

export interface Feeds {
  readonly book: FeedBook;
  readonly loop: FeedLoop;
}

export interface FeedsOptions
  extends
    Omit<FeedPorts, "store" | "fetch" | "forget">,
    Omit<FeedFetcherOptions, "policy">,
    Omit<FeedLoopOptions, "book"> {
  readonly records: RecordStore;
  readonly feedPolicy: FeedFetcherOptions["policy"];
}

export function openFeeds({ records, feedPolicy: policy, feeds, ...options }: FeedsOptions): Feeds {
  const { fetch, forget } = new FeedFetcher({ ...options, policy });
  const book = new FeedBook({ ...options, store: new FeedRecords(records), fetch, forget });
  return { book, loop: new FeedLoop({ book, feeds, clock: options.clock, random: options.random }) };
}
