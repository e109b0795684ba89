// What folders and clusters have in common: what they store is added to what they declare, and the lists of the WAF are read if
// they are requested. These commands fetch no feeds, and read no logs for automatic blocks.
import type { CalledWaf, CallWaf, ReadingWaf } from "../../app/waf-clients.ts";
import { realClock } from "../../async/clock.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import { feedSourceName } from "../../model/feed.ts";
import type { AddressText, Gathered, GatheredRule } from "../../model/gathered.ts";
import type { HistoryEvent } from "../../model/history.ts";
import type { Redactor } from "../../model/redactor.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import type { FeedView } from "../../plan/feeds/feed-access.ts";
import { feedTextFor } from "../../plan/feeds/feed-access.ts";
import { withoutEnded } from "../../plan/feeds/feed-state.ts";
import { FeedRecords } from "../../records/feed-records.ts";
import { HistoryRecords } from "../../records/history-records.ts";
import { createInventoryRecords } from "../../records/inventory-records.ts";
import { LogRecords } from "../../records/log-records.ts";
import type { RecordStore } from "../../records/record-store.ts";
import { CommandError } from "../describe-error.ts";
import { readLists } from "./open-waf.ts";
import { isReconciling } from "./rule-changes.ts";
import type { InstanceSight, LiveLists, LookOptions, UnreadSight } from "./target.ts";
import { busy } from "./target.ts";

/** An instance as it is declared, without what is stored about it. */
export interface DeclaredSight extends Omit<UnreadSight, "inventory"> {
  /** What to say if there is no inventory, or if it can't be loaded. */
  readonly gapOf: { readonly absent: string; readonly unloaded: string | undefined };
  /** A feed as it is declared, or why that is unknown. */
  readonly readFeed: (feed: ObjectName) => Promise<{ readonly feed: DeclaredFeed | undefined } | Unknown>;
}

interface Unknown {
  readonly problem: string;
}

type StoredFeed = { readonly view: FeedView | undefined } | Unknown;

export abstract class OpenedTarget {
  readonly redactor: Redactor;
  readonly #call: CallWaf;
  readonly #records: RecordStore;

  constructor(redactor: Redactor, call: CallWaf, records: RecordStore) {
    this.redactor = redactor;
    this.#call = call;
    this.#records = records;
  }

  protected abstract readDeclared(instance: ObjectName): Promise<DeclaredSight>;
  abstract keyOf(gathered: Gathered): CalledWaf<ApiKey>;
  abstract isWrittenByOthers(sight: UnreadSight): Promise<boolean>;

  async look(instance: ObjectName, { live, blocked }: LookOptions): Promise<InstanceSight> {
    const declared = await this.readDeclared(instance);
    const { gapOf, readFeed, ...known } = declared;
    const loaded = await createInventoryRecords(this.#records).load(instance);
    const fed = await withFeedTexts(declared.gathered, async (name) => {
      const read = await readFeed(name);
      return "problem" in read ? read : viewOfFeed(read.feed, await new FeedRecords(this.#records).load(name));
    });
    const gathered = await withRecordedBlocks(fed, new LogRecords(this.#records));
    const isRecorded = loaded.state === "Loaded" && loaded.revision !== "";
    const sight: UnreadSight = {
      ...known,
      gathered,
      // Undefined without a record, too: a missing record, for example in a fresh clone, doesn't mean that nothing is managed.
      inventory: isRecorded ? loaded.inventory : undefined,
      gaps: isRecorded
        ? known.gaps
        : [...known.gaps, loaded.state === "Loaded" ? gapOf.absent : (gapOf.unloaded ?? loaded.problem)],
    };
    return {
      ...sight,
      live: live ? await this.#readLists(sight, blocked) : unread("This command does not read the WAF."),
    };
  }

  /** @param forbidden what to say to a user who may not read it */
  protected async readHistory(instance: ObjectName, forbidden?: CommandError): Promise<readonly HistoryEvent[]> {
    const read = await new HistoryRecords(this.#records, () => realClock.nowMs()).read(instance);
    if (read.ok) return read.events;
    throw (read.isForbidden ? forbidden : undefined) ?? new CommandError(`the history cannot be read: ${read.problem}`);
  }

  async callWaf<T>(sight: UnreadSight, work: (waf: ReadingWaf) => Promise<T>): Promise<CalledWaf<T>> {
    const usable = this.keyOf(sight.gathered);
    if (!usable.ok) return usable;
    if (await this.isWrittenByOthers(sight)) return busy;
    this.redactor.add(usable.value);
    return await this.#call(sight.gathered.instance, usable.value, work);
  }

  async #readLists(sight: UnreadSight, blocked: LookOptions["blocked"]): Promise<LiveLists> {
    const { instance } = sight.gathered;
    const searched = instance.logs.enabled ? blocked : undefined;
    const declared = { instance, isInFolder: sight.placeOf(instance.meta, undefined) !== undefined };
    const called = await this.callWaf(sight, async (waf) => await readLists(waf, declared, searched));
    return called.ok ? called.value : unread(called.problem);
  }
}

function unread(why: string): LiveLists {
  return { state: "Unread", why };
}

/** Adds the entries that rules get from feeds, from the stored content. */
async function withFeedTexts(gathered: Gathered, read: (feed: ObjectName) => Promise<StoredFeed>): Promise<Gathered> {
  if (gathered.rules.every(({ rule }) => rule.feeds.length === 0)) return gathered;
  const rules: GatheredRule[] = [];
  for (const item of gathered.rules) {
    const { namespace } = item.rule.meta;
    const user = { namespace, labels: gathered.namespaceLabels.get(namespace) };
    const texts: AddressText[] = [];
    for (const name of item.rule.feeds) {
      const stored = await read(name);
      if ("problem" in stored) texts.push({ state: "Missing", source: feedSourceName(name), problem: stored.problem });
      else texts.push(feedTextFor(name, stored.view, user));
    }
    rules.push({ ...item, texts: [...item.texts, ...texts] });
  }
  return { ...gathered, rules };
}

/** @param feed undefined if there is no such feed */
function viewOfFeed(feed: DeclaredFeed | undefined, loaded: Awaited<ReturnType<FeedRecords["load"]>>): StoredFeed {
  if (feed === undefined) return { view: undefined };
  if (!loaded.ok) return { problem: loaded.problem };
  const content = loaded.state?.good?.content;
  return { view: { feed, content: content === undefined ? undefined : withoutEnded(content, realClock.nowMs()) } };
}

/** Adds the clients that WafAutoBlocks listed, from the records of the log reader. */
async function withRecordedBlocks(gathered: Gathered, records: Pick<LogRecords, "load">): Promise<Gathered> {
  if (gathered.autoBlocks === undefined) return gathered;
  const { BlockBook } = await import("../../reconcile/blocking/block-book.ts");
  const { withBlockRules } = await import("../../reconcile/blocking/block-source.ts");
  const book = new BlockBook({ records, clock: realClock, onChange: () => undefined });
  return withBlockRules(gathered, await book.view(gathered.instance.meta));
}

/** The gap of an instance without a record. */
export function unrecorded(instance: ObjectName, where: string): string {
  const what = `There is no record of ${nameKey(instance)} in ${where}.`;
  return `${what} Without it, wafsync does not know which entries it manages.`;
}

/** Whether the status reports ongoing work on the instance. */
export function isReportedBusy({ gathered, statusOf }: UnreadSight): boolean {
  return isReconciling(statusOf(gathered.instance.meta));
}
