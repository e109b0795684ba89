// The target of a command: the instances of a folder or a cluster, each with everything that is known about it.
import type { CallWaf, CalledWaf, ReadingWaf } from "../../app/waf-clients.ts";
import { realClock } from "../../async/clock.ts";
import { detailOf, findCondition } from "../../kinds/conditions.ts";
import type { HeldGroup } from "../../kinds/waf-instance.ts";
import { FeedRecords } from "../../feeds/feed-records.ts";
import { type StoredFeed, withFeedTexts } from "../../feeds/feed-source.ts";
import { withoutEnded } from "../../feeds/feed-state.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredFeed, DeclaredRule, ListName } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { HistoryEvent } from "../../history/events.ts";
import type { Inventory, LoadedInventory } from "../../model/inventory.ts";
import type { Redactor } from "../../model/redactor.ts";
import { visibleText } from "../../model/texts.ts";
import { nameKey, type ObjectName, type ResourceMeta, type ResourceRef } from "../../model/resource.ts";
import { readHistory } from "../../history/history.ts";
import { heldGroups } from "../../run/status/messages.ts";
import { createInventoryRecords } from "../../records/inventory-records.ts";
import { LogRecords } from "../../logs/log-records.ts";
import type { RecordStore } from "../../records/record-store.ts";
import { type CommandRule, expiredRule } from "../command-rule.ts";
import { CommandError } from "../describe-error.ts";
import type { Reported, ReportedObject } from "../object-view.ts";
import { faultWithHint } from "./open-target.ts";
import { examineSight } from "../why-view.ts";

/** A person or a program, and when. */
export interface LastChange {
  readonly author?: string;
  readonly manager?: string;
  /** In RFC 3339. */
  readonly time: string;
}

type LiveLists = CalledWaf<Readonly<Record<ListName, readonly string[]>>>;

export interface InstanceSight {
  readonly gathered: Gathered;
  /** Undefined if the user may not read it. */
  readonly inventory: Inventory | undefined;
  /** The lists of the WAF. */
  readonly live: LiveLists;
  /** Rules that refer to an instance which does not exist, and why. */
  readonly unattached: readonly { readonly rule: DeclaredRule; readonly message: string }[];
  /** What the result does not consider, one sentence each. */
  readonly gaps: readonly string[];
  /** `rules.yaml:12` in a folder; undefined in a cluster. */
  readonly placeOf: (meta: ResourceMeta, source: string | undefined) => string | undefined;
  readonly statusOf: (object: ResourceRef) => Readonly<Record<string, unknown>> | undefined;
  /** Who last changed the declaration, and when; undefined if unknown. */
  readonly setterOf: (meta: ResourceMeta) => Promise<LastChange | undefined> | LastChange | undefined;
}

/** An object of a folder or a cluster. */
export interface SeenObject extends ReportedObject {
  /** What it refers to; undefined if it refers to nothing, or the reference can't be read. */
  readonly instance?: ObjectName | undefined;
  /** Of a WafInstance, like `suspend`. */
  readonly baseUrl?: string | undefined;
  readonly suspend?: boolean | undefined;
}

export interface Seen {
  readonly atMs: number;
  /** `in folder waf/`, or `in namespace shop`. */
  readonly where: string;
  readonly objects: readonly SeenObject[];
  /** What could not be read, one sentence each. */
  readonly gaps: readonly string[];
}

/** An instance as it is declared, without what is stored about it. */
export interface DeclaredSight extends Omit<InstanceSight, "inventory" | "live"> {
  /** A feed as it is declared, or why that is unknown. */
  readonly readFeed: (
    feed: ObjectName,
  ) => Promise<{ readonly feed: DeclaredFeed | undefined } | { readonly problem: string }>;
}

/**
 * What folders and clusters have in common: what they store is added to what they declare, and the lists of the WAF are read if they
 * are requested. It fetches no feeds, and reads no logs for automatic blocks.
 */
export abstract class Target {
  readonly redactor: Redactor;
  /** `in folder waf/`, or `in namespace shop`. */
  abstract readonly where: string;
  /** Where the records are, for messages. */
  protected abstract readonly recordsAt: string;
  readonly #call: CallWaf;
  readonly #records: RecordStore;

  constructor(redactor: Redactor, call: CallWaf, records: RecordStore) {
    this.redactor = redactor;
    this.#call = call;
    this.#records = records;
  }

  /** Ordered by name. @throws CommandError if they can't be listed */
  abstract instances(): Promise<readonly ObjectName[]>;
  /** @throws CommandError if there is no such instance */
  protected abstract readDeclared(instance: ObjectName): Promise<DeclaredSight>;
  /**
   * The reported state of all objects. Reads files and objects again, but calls no WAF. In a cluster: of the instances in this
   * namespace, by default that of the target. @throws CommandError if they can't be listed
   */
  abstract see(namespace?: string): Promise<Seen>;
  /** The API key of the instance, or why it is unknown. */
  protected abstract keyOf(gathered: Gathered): CalledWaf<ApiKey>;
  /** Whether another process, with which this one can't take turns, is writing to the WAF. */
  protected abstract isBusy(sight: InstanceSight): boolean;
  /** The location of a rule with this name, for messages. */
  abstract placeOfRule(name: ObjectName): Promise<string>;
  /** Writes a rule of a command. @param isNew whether it may have to be created. @throws CommandError if it can't be written */
  protected abstract putRule(rule: CommandRule, isNew: boolean): Promise<void>;
  /**
   * Deletes a rule of a command. A rule that another command has changed since it was read or written stays; in a folder, only one that
   * has been written.
   * @param written what this command has written, if it has
   * @throws CommandError if it can't be deleted
   */
  abstract deleteRule(rule: ResourceMeta, written?: CommandRule): Promise<void>;
  /** What the process that applies the rule reports on it as it is now. */
  protected abstract reportOn(rule: CommandRule): Promise<Progress>;
  /** Whether a running process will expire rules on time. */
  abstract isFollowed(): Promise<boolean>;
  /** The removals that are on hold now. @throws CommandError if they are not known */
  abstract removalsOnHold(instance: ObjectName): Promise<OnHold>;
  /** Approves exactly the removals of the hash. Returns where the approval is recorded. @throws CommandError if it can't be written */
  abstract approve(instance: ObjectName, hash: string): Promise<string>;

  /** @param options `live`: also reads the lists of the WAF. @throws CommandError if there is no such instance */
  async look(instance: ObjectName, { live }: { readonly live: boolean }): Promise<InstanceSight> {
    const declared = await this.readDeclared(instance);
    const { readFeed, ...known } = declared;
    const loaded = await createInventoryRecords(this.#records).load(instance);
    const feeds = new Map<string, StoredFeed>();
    for (const name of declared.gathered.rules.flatMap(({ rule }) => rule.feeds))
      feeds.set(nameKey(name), await this.#viewOf(name, readFeed));
    const fed = withFeedTexts(declared.gathered, (name) => feeds.get(nameKey(name)));
    const isRecorded = loaded.state === "Loaded" && loaded.revision !== "";
    const sight: InstanceSight = {
      ...known,
      gathered: await withRecordedBlocks(fed, new LogRecords(this.#records)),
      // Undefined without a record, too: a missing record, for example in a fresh clone, doesn't mean that nothing is managed.
      inventory: isRecorded ? loaded.inventory : undefined,
      gaps: isRecorded ? known.gaps : [...known.gaps, this.#gapOf(instance, loaded)],
      live: { ok: false, problem: "This command does not read the WAF." },
    };
    return live ? { ...sight, live: await this.#readLists(sight) } : sight;
  }

  /**
   * Writes and removes rules, and waits for the WAF. @param wait undefined if the command must not wait. @throws CommandError if they
   * can't be written
   */
  async change({ instance, put, removed }: RuleChanges, wait: Waiting | undefined): Promise<Settlement> {
    // With an end in the past, a run removes the entries of the rule, and reports when that is done.
    const expired = wait === undefined ? [] : removed.map(expiredRule);
    for (const [at, rule] of put.entries()) await this.putRule(rule, true).catch(stoppedAfter(put.slice(0, at)));
    for (const rule of expired) await this.putRule(rule, false);
    const settlement: Settlement =
      wait === undefined
        ? { state: "NotWaited", message: "" }
        : await this.settle(instance, [...put, ...expired], wait);
    // Pending removals do not need the rules.
    for (const [at, { meta }] of removed.entries()) await this.deleteRule(meta, expired[at]);
    return settlement;
  }

  /** Oldest first. @throws CommandError if it may not be read */
  async history(instance: ObjectName): Promise<readonly HistoryEvent[]> {
    const read = await readHistory(this.#records, instance, realClock.nowMs());
    if (read.ok) return read.events;
    if (!read.isForbidden) throw new CommandError(`the history cannot be read: ${read.problem}`);
    throw new CommandError(
      `you are not allowed to list wafrecords in namespace ${instance.namespace}, which contain the history of ${nameKey(instance)}`,
      "Ask for this permission. For the last hour, see the events of the instance and its rules: kubectl describe wafinstance.",
    );
  }

  /** Lets `work` read from the WAF, unless another process is writing to it. */
  async callWaf<T>(sight: InstanceSight, work: (waf: ReadingWaf) => Promise<T>): Promise<CalledWaf<T>> {
    const usable = this.keyOf(sight.gathered);
    if (!usable.ok) return usable;
    if (this.isBusy(sight)) {
      return { ok: false, problem: "wafsync is already writing to this WAF, which accepts one call at a time." };
    }
    return await this.#call(sight.gathered.instance, usable.value, work);
  }

  /** Waits until the WAF of the instance shows the rules as they are declared now. */
  protected async settle(_: ObjectName, written: readonly CommandRule[], wait: Waiting): Promise<Settlement> {
    return await untilSettled(async () => await this.reportOnAll(written), wait);
  }

  /** The first rule that is not settled. */
  protected async reportOnAll(written: readonly CommandRule[]): Promise<Progress> {
    for (const rule of written) {
      const progress = await this.reportOn(rule);
      if (progress.state !== "Settled") return progress;
    }
    return { state: "Settled", message: "" };
  }

  /** The removals that a run would put on hold now, with all entries. @throws CommandError if the WAF can't be read */
  protected async heldNow(instance: ObjectName): Promise<OnHold> {
    const sight = await this.look(instance, { live: true });
    if (!sight.live.ok) {
      throw new CommandError(`the removals on hold are unknown: ${visibleText(sight.live.problem)}`);
    }
    const { held } = (await examineSight(sight)).examined;
    return { hash: held?.hash, groups: held ? heldGroups(held, Infinity) : [] };
  }

  /** Why the inventory is unknown. */
  #gapOf(instance: ObjectName, loaded: LoadedInventory): string {
    if (loaded.state === "Loaded")
      return `There is no record of ${nameKey(instance)} in ${this.recordsAt}. Without it, wafsync does not know which entries it manages.`;
    if (loaded.state === "Unreadable" || loaded.isForbidden !== true) return loaded.problem;
    return `You are not allowed to list wafrecords in namespace ${instance.namespace}, which record the managed entries and their times.`;
  }

  async #readLists(sight: InstanceSight): Promise<LiveLists> {
    const { instance } = sight.gathered;
    const called = await this.callWaf(sight, async (waf): Promise<LiveLists> => {
      const blocklist = await waf.readList("blocklist");
      if (!blocklist.ok) return { ok: false, problem: faultWithHint(blocklist.fault, instance) };
      const allowlist = await waf.readList("allowlist");
      if (!allowlist.ok) return { ok: false, problem: faultWithHint(allowlist.fault, instance) };
      return { ok: true, value: { blocklist: blocklist.value, allowlist: allowlist.value } };
    });
    return called.ok ? called.value : called;
  }

  /** A feed as rules see it, with its stored content. */
  async #viewOf(name: ObjectName, readFeed: DeclaredSight["readFeed"]): Promise<StoredFeed> {
    const read = await readFeed(name);
    if ("problem" in read || read.feed === undefined) return "problem" in read ? read : undefined;
    const loaded = await new FeedRecords(this.#records).load(name);
    if (!loaded.ok) return { problem: loaded.problem };
    const content = loaded.state?.good?.content;
    return { feed: read.feed, content: content && withoutEnded(content, realClock.nowMs()) };
  }
}

/** For `catch`: adds to an expected error which rules were written before it. */
function stoppedAfter(written: readonly CommandRule[]): (error: Error) => never {
  return (error) => {
    if (written.length === 0 || !(error instanceof CommandError)) throw error;
    const stay = `These rules were written before this, and stay: ${written.map(nameKey).join(", ")}.`;
    throw new CommandError(error.message, [error.hint ?? [], stay].flat().join(" "));
  };
}

/** Adds the clients that WafAutoBlocks listed, from the records of the log reader. */
async function withRecordedBlocks(gathered: Gathered, records: Pick<LogRecords, "load">): Promise<Gathered> {
  if (gathered.autoBlocks === undefined) return gathered;
  const { BlockBook } = await import("../../blocks/block-book.ts");
  const { withBlockRules } = await import("../../blocks/block-rules.ts");
  const book = new BlockBook({ records, clock: realClock, onChange: () => undefined });
  return withBlockRules(gathered, await book.view(gathered.instance.meta));
}

// Changes of rules by a command, and how far the reported status of rules and instances shows them.

export interface OnHold {
  /** What approves these removals; undefined if there are none, or if they can't be approved. */
  readonly hash: string | undefined;
  readonly groups: readonly HeldGroup[];
  /** Why the groups have only examples of their entries. */
  readonly gap?: string;
}

/** The rules of commands that a command writes and removes. */
export interface RuleChanges {
  readonly instance: ObjectName;
  readonly put: readonly CommandRule[];
  readonly removed: readonly DeclaredRule[];
}

export interface Waiting {
  readonly stop: AbortSignal;
  /** Aborted by `stop`, and when the time is over. */
  readonly ended: AbortSignal;
  /** Prints the reason for a delay, once. */
  readonly onMessage: (message: string) => void;
}

/**
 * `Settled`: the WAF shows the change. `Left`: the process that applies the change exited before that, or reports that it can't.
 * `TimedOut`: the change may still take effect. `NotWaited`: the result was not checked.
 */
export interface Settlement {
  readonly state: "Settled" | "Left" | "TimedOut" | "Stopped" | "NotWaited";
  /** Why the change is not settled; empty if it is. */
  readonly message: string;
}

const pollMs = 300;
/** The reason for a wait is printed only after this time, because most changes are done by then. */
const quietMs = 2_000;

/** Looks again and again until the state is no longer `Open`, or the wait has ended. */
export async function untilSettled(
  look: () => Promise<Progress>,
  { stop, ended, onMessage }: Waiting,
): Promise<Settlement> {
  const loudMs = realClock.monotonicMs() + quietMs;
  for (;;) {
    const { state, message } = await look();
    if (state !== "Open") return { state, message };
    if (ended.aborted) return { state: stop.aborted ? "Stopped" : "TimedOut", message };
    if (realClock.monotonicMs() >= loudMs) onMessage(message);
    await realClock.sleep(pollMs, ended);
  }
}

export interface Progress {
  readonly state: "Settled" | "Left" | "Open";
  /** Why it is not settled. */
  readonly message: string;
}

/** The progress of a rule, as reported for this generation or a later one. */
export function progressOf(status: Reported | undefined, generation: number): Progress {
  const { conditions = [], observedGeneration = -1 } = status ?? {};
  if (observedGeneration < generation)
    return { state: "Open", message: "No reconcile run has processed the rule yet." };
  const accepted = findCondition(conditions, "Accepted");
  if (accepted?.status === "False") return { state: "Left", message: detailOf(conditions, "Accepted") ?? "" };
  const synced = findCondition(conditions, "Synced");
  if (synced?.status === "True") return { state: "Settled", message: "" };
  const message = detailOf(conditions, "Synced") ?? "No reconcile run has reported on the rule yet.";
  const isStuck = findCondition(conditions, "Stalled")?.status === "True";
  return { state: isStuck ? "Left" : "Open", message };
}
