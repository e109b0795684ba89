// The feeds of a simulation: the servers' responses, the declarations, and the stored state. Contents shrink, disappear,
// turn into HTML pages and arrive late. A separate oracle checks each new last good content when it is stored.
import type { FeedContent, FetchOutcome, FeedState } from "../../../src/feeds/feed-state.ts";
import { decodeFeed, encodeFeed, type StoredFeed } from "../../../src/feeds/feed-records.ts";
import { readFeed } from "../../../src/feeds/read-feed.ts";
import type { DeclaredFeed, FeedGuards } from "../../../src/model/declared.ts";
import type { AddressText, Gathered } from "../../../src/model/gathered.ts";
import { nameKey, type ObjectName } from "../../../src/model/resource.ts";
import { aFeed, textFacts } from "../builders/declare-feed.ts";
import { RecordedStatus } from "../fakes/recorded-status.ts";
import { type Answer, keyOf, objectionTo, type Served, spokenEntries } from "./feed-oracle.ts";
import { watchLagMsMax } from "./sim-cluster.ts";
import { describeSaveFault } from "./sim-faults.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimWorld } from "./sim-world.ts";

const names: readonly ObjectName[] = [
  { namespace: "edge", name: "threats" },
  { namespace: "edge", name: "partners" },
];
const addresses: readonly string[] = [
  ...Array.from({ length: 16 }, (_, index) => `192.0.2.${index}`),
  ...Array.from({ length: 8 }, (_, index) => `203.0.113.${100 + index}`),
  "2001:db8::a",
  "10.1.2.0/24",
];
const intervalMs = 1_800_000;
const strict: FeedGuards = {
  minEntries: 5,
  maxShrinkPercent: 30,
  maxInvalidPercent: 5,
  maxEntries: 22,
  maxAddresses: 2 ** 24,
};
const loose: FeedGuards = {
  minEntries: 0,
  maxShrinkPercent: 100,
  maxInvalidPercent: 100,
  maxEntries: 1000,
  maxAddresses: 2 ** 24,
};
/** What a process has in its hands may be replaced meanwhile, for as long as a call and its turn take. */
const replacedMsMax = 60_000;
/** From an edit until a process asks the server by it: the watch, then two loads of the record and a call, each of which may pause. */
const readMsMax = watchLagMsMax + 1_000;

interface Stored {
  readonly text: string;
  readonly entries: readonly string[] | undefined;
  readonly changedMs: number;
  /** The previous contents, latest first, and until when each was stored. */
  readonly replaced: readonly { readonly entries: readonly string[] | undefined; readonly atMs: number }[];
}

type ContentOf = (stored: Stored, name: string) => readonly string[] | undefined;

export class SimFeeds {
  /** Whether any feed is declared. */
  readonly isUsed: boolean;
  readonly status = new RecordedStatus();
  /** Where processes learn that a declaration has changed. */
  onChange: () => void = () => undefined;
  readonly #world: SimWorld;
  readonly #declared = new Map<string, DeclaredFeed>();
  /** When the guards of each were edited last. */
  readonly #guardedMs = new Map<string, number>();
  readonly #served = new Map<string, Served>();
  readonly #stored = new Map<string, Stored>();
  /** What each process was answered last, and which feeds it could load. */
  readonly #answers = new WeakMap<SimProcess, Map<string, Answer>>();
  readonly #loaded = new WeakMap<SimProcess, Map<string, number>>();
  /** What was on hold, by the hash that accepts it; and what a person has accepted. */
  readonly #held = new Map<string, string>();
  readonly #accepted = new Set<string>();
  #asked = 0;

  constructor(world: SimWorld, isUsed: boolean) {
    this.#world = world;
    this.isUsed = isUsed;
    for (const name of isUsed ? names : []) {
      const { meta } = aFeed();
      this.#declared.set(nameKey(name), aFeed({ meta: { ...meta, ...name }, intervalMs, guards: strict }));
      this.#served.set(nameKey(name), this.#list());
    }
  }

  declared(): readonly DeclaredFeed[] {
    return [...this.#declared.values()];
  }

  /** The feeds that a rule refers to. */
  refs(): readonly ObjectName[] {
    return this.isUsed && this.#world.chance(0.4) ? [names[this.#world.pick(names.length)] ?? names[0]!] : [];
  }

  /** A server, or a person. */
  doSomething(): void {
    const world = this.#world;
    const name = nameKey(names[world.pick(names.length)] ?? names[0]!);
    const choice = world.pick(10);
    if (choice < 6) {
      const served = world.chance(0.3) ? this.#list() : this.#broken(name);
      this.#served.set(name, served);
      world.note(undefined, `${name} is now ${describe(served)}`);
      if (world.chance(0.7)) this.#ask(name);
    } else if (choice === 6) this.#edit(name, { suspend: this.#declared.get(name)?.suspend !== true });
    else if (choice === 7) this.#edit(name, { guards: world.chance(0.8) ? strict : loose });
    else this.#accept(name);
  }

  /** All servers work, and no guard rejects their content. */
  settle(): void {
    for (const name of this.#declared.keys()) {
      this.#served.set(name, this.#list());
      this.#edit(name, { guards: loose, suspend: false });
      this.#ask(name);
    }
  }

  load(process: SimProcess, feed: ObjectName): StoredFeed {
    const { api } = this.#world.problems;
    if (api !== undefined) return { ok: false, problem: api };
    const loaded = this.#loaded.get(process) ?? new Map<string, number>();
    if (!loaded.has(nameKey(feed))) loaded.set(nameKey(feed), this.#world.time.nowMs());
    this.#loaded.set(process, loaded);
    const stored = this.#stored.get(nameKey(feed));
    if (stored === undefined) return { ok: true, state: undefined };
    const state = decodeFeed(stored.text);
    return state === undefined ? { ok: false, problem: "The record is damaged." } : { ok: true, state };
  }

  save(process: SimProcess, feed: ObjectName, state: FeedState): string | undefined {
    const { problems, saveFault, time, ledger } = this.#world;
    const answer = this.#answers.get(process)?.get(nameKey(feed));
    // Content stays on hold while later answers are something else, so only the first one says what the hash stands for.
    if (state.held !== undefined && answer !== undefined && !this.#held.has(state.held.hash))
      this.#held.set(state.held.hash, keyOf(spokenEntries(answer.served)));
    if (!process.mayWrite) return "The Lease is lost.";
    if (problems.api !== undefined) return problems.api;
    const fault = saveFault();
    if (fault !== undefined) this.#world.cover(describeSaveFault(fault), "save of feed");
    if (fault !== undefined) return `The record cannot be written: ${fault}.`;
    const name = nameKey(feed);
    const was = this.#stored.get(name);
    const entries = state.good?.content.entries.toSorted();
    const guards = this.#declared.get(name)?.guards ?? strict;
    const objection = objectionTo({ before: was?.entries, after: entries }, answer, guards, (key) =>
      this.#accepted.delete(`${name} ${key}`),
    );
    if (objection !== undefined) ledger.violation(`${name}: ${objection}`);
    const atMs = time.nowMs();
    const isChanged = was === undefined || keyOf(was.entries) !== keyOf(entries);
    const recent = (was?.replaced ?? []).filter((one) => atMs - one.atMs <= replacedMsMax);
    this.#stored.set(name, {
      text: encodeFeed(state),
      entries,
      changedMs: isChanged ? atMs : was.changedMs,
      replaced: isChanged ? [{ entries: was?.entries, atMs }, ...recent] : was.replaced,
    });
    return undefined;
  }

  /**
   * The server's answer as it is when it is asked; a late one arrives when it may be another already.
   * @param feed as the process has read it, by which it judges the answer: it may have been edited only just now
   */
  ask(process: SimProcess, feed: DeclaredFeed): { readonly delayMs: number; readonly answer: Promise<FetchOutcome> } {
    const { ledger, time } = this.#world;
    const name = nameKey(feed.meta);
    const served = this.#served.get(name) ?? { kind: "Gone" };
    const isJustEdited = time.nowMs() - (this.#guardedMs.get(name) ?? 0) <= readMsMax;
    if (feed.guards !== this.#declared.get(name)?.guards && !isJustEdited)
      ledger.violation(`${name} is fetched with guards that were replaced long ago`);
    const answers = this.#answers.get(process) ?? new Map<string, Answer>();
    this.#answers.set(process, answers.set(name, { served, guards: feed.guards }));
    return { delayMs: this.#world.chance(0.2) ? this.#world.pick(29_000) : 1, answer: outcomeOf(served) };
  }

  /** What a process hands to its run must be the last good content, or one that was replaced only just now. */
  judgeUse(process: SimProcess, gathered: Gathered | undefined): void {
    const { ledger, time } = this.#world;
    if (!process.mayWrite || !process.life.alive) return;
    for (const [name, text] of this.#textsOf(gathered)) {
      const stored = this.#stored.get(name);
      if (text.state === "Missing") {
        const isKnown = stored?.entries !== undefined && this.#hasLongLoaded(process, name);
        if (isKnown && time.nowMs() - stored.changedMs > replacedMsMax)
          ledger.violation(`${name} is missing for a run, and has a last good content`);
        continue;
      }
      const used = text.state === "Listed" ? keyOf(text.entries.toSorted()) : "";
      const isReplaced = (stored?.replaced ?? []).some(
        ({ entries, atMs }) => time.nowMs() - atMs <= replacedMsMax && used === keyOf(entries),
      );
      if (used !== keyOf(stored?.entries) && !isReplaced) ledger.violation(`${name} has another content for a run`);
    }
  }

  /** What is declared, with the content that counts now. */
  current(gathered: Gathered): Gathered {
    return this.#with(gathered, ({ entries }) => entries);
  }

  /** The same, and with each of the contents that a process may still work with; without one that it could not load. */
  extended(gathered: Gathered, process: SimProcess): readonly Gathered[] {
    const feeds = gathered.rules.flatMap(({ rule }) => rule.feeds.map(nameKey));
    if (feeds.length === 0) return [gathered];
    const loaded = this.#loaded.get(process);
    const latest = Math.max(...feeds.map((name) => this.#stored.get(name)?.replaced.length ?? 0));
    const earlier = Array.from({ length: latest }, (_, index) =>
      // Before its first content, a feed had none.
      this.#with(gathered, ({ entries, replaced }) => (index in replaced ? replaced[index]?.entries : entries)),
    );
    const known = feeds.every((name) => this.#hasLongLoaded(process, name))
      ? []
      : [this.#with(gathered, ({ entries }, name) => (loaded?.has(name) === true ? entries : undefined))];
    return [this.current(gathered), ...earlier, ...known];
  }

  /** A run that began before the process could load the feed works without it. */
  #hasLongLoaded(process: SimProcess, name: string): boolean {
    const atMs = this.#loaded.get(process)?.get(name);
    return atMs !== undefined && this.#world.time.nowMs() - atMs > replacedMsMax;
  }

  #with(gathered: Gathered, contentOf: ContentOf): Gathered {
    const rules = gathered.rules.map((one) => ({
      ...one,
      texts: [...one.texts, ...one.rule.feeds.map((feed) => this.#text(feed, contentOf))],
    }));
    return { ...gathered, rules };
  }

  /** In the end, every feed has the content of its server. */
  expectCurrent(): void {
    for (const [name, served] of this.#served) {
      if (keyOf(this.#stored.get(name)?.entries) !== keyOf(spokenEntries(served)))
        this.#world.ledger.violation(`${name} is not what its server says in the end`);
    }
    for (const fault of this.status.faults) this.#world.ledger.violation(`Status of a feed: ${fault}`);
  }

  #text(feed: ObjectName, contentOf: ContentOf): AddressText {
    const source = { kind: "WafFeed", ...feed } as const;
    const stored = this.#stored.get(nameKey(feed));
    const entries = stored === undefined ? undefined : contentOf(stored, nameKey(feed));
    if (entries === undefined)
      return { state: "Missing", source, problem: `WafFeed ${nameKey(feed)} has no content yet.` };
    return { state: "Listed", source, entries: entries as FeedContent["entries"] };
  }

  #textsOf(gathered: Gathered | undefined): readonly (readonly [string, AddressText])[] {
    const texts = gathered?.rules.flatMap(({ texts: all }) => all) ?? [];
    return texts.flatMap((text) => (text.source.kind === "WafFeed" ? [[nameKey(text.source), text]] : []));
  }

  #accept(name: string): void {
    const stored = this.#stored.get(name);
    const hash = stored === undefined ? undefined : decodeFeed(stored.text)?.held?.hash;
    const entries = hash === undefined ? undefined : this.#held.get(hash);
    if (hash === undefined || entries === undefined) return;
    this.#accepted.add(`${name} ${entries}`);
    this.#annotate(name, { "wafsync.dev/accept-feed": hash });
    this.#world.note(undefined, `a user accepts ${hash} of ${name}`);
  }

  #ask(name: string): void {
    this.#asked += 1;
    this.#annotate(name, { "wafsync.dev/requested-at": String(this.#asked) });
  }

  #annotate(name: string, annotations: Readonly<Record<string, string>>): void {
    const feed = this.#declared.get(name);
    if (feed === undefined) return;
    this.#edit(name, { meta: { ...feed.meta, annotations: { ...feed.meta.annotations, ...annotations } } });
  }

  #edit(name: string, change: Partial<DeclaredFeed>): void {
    const feed = this.#declared.get(name);
    if (feed === undefined) return;
    this.#declared.set(name, { ...feed, ...change });
    if (change.guards !== undefined && change.guards !== feed.guards)
      this.#guardedMs.set(name, this.#world.time.nowMs());
    this.onChange();
  }

  #list(): Served {
    const from = this.#world.pick(addresses.length);
    const count = 10 + this.#world.pick(10);
    return {
      kind: "Text",
      lines: Array.from({ length: count }, (_, at) => addresses[(from + at) % addresses.length] ?? ""),
    };
  }

  #broken(name: string): Served {
    const was = this.#served.get(name);
    const lines = was?.kind === "Text" ? was.lines : addresses.slice(0, 15);
    const kinds: readonly Served[] = [
      { kind: "Text", lines: lines.slice(0, Math.ceil((lines.length * (20 + this.#world.pick(80))) / 100)) },
      { kind: "Text", lines: [] },
      { kind: "Text", lines: lines.slice(0, this.#world.pick(5)) },
      { kind: "Text", lines: [...lines, ...Array.from({ length: this.#world.pick(6) }, () => "nonsense")] },
      { kind: "Text", lines: [...addresses] },
      { kind: "Page", lines },
      { kind: "Nothing" },
      { kind: "Cut" },
      { kind: "Gone" },
    ];
    return kinds[this.#world.pick(kinds.length)] ?? { kind: "Gone" };
  }
}

function describe(served: Served): string {
  return "lines" in served ? `${served.kind}: ${served.lines.join(" ")}` : served.kind;
}

async function outcomeOf(served: Served): Promise<FetchOutcome> {
  if (served.kind === "Gone") return { kind: "Failed", fault: { message: "It answered 404." } };
  if (served.kind === "Cut") return { kind: "Failed", fault: { message: "It was cut off." } };
  if (served.kind === "Page" || served.kind === "Nothing")
    return { kind: "Failed", fault: { message: "It was no list." } };
  const text = `# A list\n${served.lines.join("\n")}\n`;
  const reading = await readFeed(Buffer.from(text), { type: "Plain" }, { clock: withoutPause });
  return { kind: "Read", reading, facts: textFacts() };
}

const withoutPause = { monotonicMs: () => 0, sleep: async () => undefined };
