// Reads the references of an instance and its rules that no watch covers: the Secret with the API key, and ConfigMaps with
// addresses. Polls ConfigMaps and missing Secrets, and marks the instance as changed when they change.
import type { Clock } from "../../async/clock.ts";
import { TimeSlices } from "../../async/time-slices.ts";
import type { DeclaredInstance, DeclaredRule } from "../../model/declared.ts";
import type { Gathered, TextRefresh } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { parseInSlices } from "../../plan/lists/rule-entries.ts";
import type { AddressTexts, Freshness, ReadTexts } from "./address-texts.ts";
import type { ApiKeys } from "./api-keys.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import type { InstanceChanges } from "./instance-changes.ts";
import { ReferencePoller } from "./reference-poller.ts";
import { type BudgetedRule, inBudgetOrder, SourceBudget, tooLarge } from "./source-budget.ts";

/** Larger values read more beyond a limit; smaller values take longer. */
const rulesAtOnceMax = 8;
/** How long a run waits in total for ConfigMaps of guests: an urgent address of the owner waits as long. */
export const guestWaitMsMax = 250;
interface RuleRead extends ReadTexts {
  readonly rule: DeclaredRule;
  /** Its ConfigMaps were not read: they are not granted, or there are too many. */
  readonly isRefused?: true;
}

const nothingRead: ReadTexts = { texts: [], problems: [], missing: [] };

/** The API key and the address texts of an instance. */
export interface References extends Pick<Gathered, "key" | "rules" | "sameKey"> {
  /** What could not be read, one sentence each. */
  readonly problems: readonly string[];
  /** Unwatched ConfigMaps that do not exist or lack a key, by `namespace/name`. */
  readonly missing: ReadonlyMap<string, ObjectName>;
  /** Rules whose ConfigMaps were not read. */
  readonly refused: ReadonlySet<DeclaredRule>;
}

export interface InstanceReferencesOptions {
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  readonly stores: ClusterStores;
  readonly keys: ApiKeys;
  readonly texts: AddressTexts;
  readonly changes: InstanceChanges;
  /** The cached instance; undefined if it does not exist or is invalid. */
  readonly instanceOf: (name: ObjectName) => DeclaredInstance | undefined;
}

export class InstanceReferences {
  readonly #options: InstanceReferencesOptions;
  readonly #poller: ReferencePoller;

  constructor(options: InstanceReferencesOptions) {
    this.#options = options;
    this.#poller = new ReferencePoller(options.clock, options.random);
  }

  /** Polls until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#poller.run(signal);
  }

  /** Also tries once to read the keys of other instances of which this one could be a duplicate. */
  async read(instance: DeclaredInstance, rules: readonly BudgetedRule[], freshness: Freshness): Promise<References> {
    const { keys, changes } = this.#options;
    const [key, reads] = await Promise.all([
      keys.read(instance, instance.resyncIntervalMs),
      this.#readTexts(rules, freshness),
      Promise.all(changes.unreadRivals(instance).map(async (peer) => await keys.ensureTried(peer))),
    ]);
    return {
      key,
      rules: reads.map(({ rule, texts: ofRule }) => ({ rule, texts: ofRule })),
      problems: [...new Set(reads.flatMap(({ problems }) => problems))],
      missing: new Map(reads.flatMap(({ missing }) => missing.map((name) => [nameKey(name), name]))),
      refused: new Set(reads.flatMap(({ rule, isRefused }) => (isRefused === true ? [rule] : []))),
      sameKey: key.state === "Present" ? changes.sharing(instance.meta, key.key).map(({ meta }) => meta) : [],
    };
  }

  /** A few rules at a time, until the budget is exhausted. Parses the texts in slices. ConfigMaps of guests have limited time. */
  async #readTexts(rules: readonly BudgetedRule[], freshness: Freshness): Promise<RuleRead[]> {
    const { clock, texts } = this.#options;
    const ofGuests = { ...freshness, waitUntilMs: clock.monotonicMs() + guestWaitMsMax };
    const freshnessOf = ({ grant }: BudgetedRule): Freshness => (grant === undefined ? freshness : ofGuests);
    const budget = new SourceBudget();
    const slices = new TimeSlices(clock);
    const [sourced, inline] = [rules.filter(hasSources), rules.filter((budgeted) => !hasSources(budgeted))];
    const reads = inline.map(({ rule }): RuleRead => ({ rule, ...nothingRead }));
    for (const read of reads) for (const _ of parseInSlices(read)) if (slices.isOver) await slices.pause();
    const order = inBudgetOrder(sourced);
    for (let start = 0; start < order.length; start += rulesAtOnceMax) {
      const some = order.slice(start, start + rulesAtOnceMax);
      const begun = some.map(async (budgeted): Promise<RuleRead> => {
        const { rule, isAttached } = budgeted;
        if (!isAttached) return { rule, ...nothingRead, isRefused: true };
        const refused = budget.admit(budgeted);
        if (refused === undefined) return { rule, ...(await texts.read(rule, freshnessOf(budgeted))) };
        return { rule, ...nothingRead, texts: tooLarge(rule, refused), isRefused: true };
      });
      for (const [index, read] of (await Promise.all(begun)).entries()) {
        const budgeted = some[index];
        if (budgeted === undefined) continue;
        const taken = await this.#take(budget, budgeted, read, freshnessOf(budgeted));
        for (const _ of parseInSlices(taken)) if (slices.isOver) await slices.pause();
        reads.push(taken);
      }
      if (slices.isOver) await slices.pause();
    }
    const used = new Set(
      reads.flatMap((read) => read.texts.flatMap((text) => (text.state === "Read" ? [text.source] : []))),
    );
    for (const { rule, texts: ofRule } of reads) {
      if (ofRule.length === 0) continue;
      if (slices.isOver) await slices.pause();
      if (ofRule.some((text) => text.state === "Missing" && text.isTooLarge))
        texts.drop(rule, (source) => used.has(source));
    }
    return reads;
  }

  /** The texts if they are within the budget. Texts that were dropped earlier are read again. */
  async #take(budget: SourceBudget, budgeted: BudgetedRule, read: RuleRead, freshness: Freshness): Promise<RuleRead> {
    const { rule } = budgeted;
    if (read.isRefused === true) return read;
    const isDropped = (read.linesDropped ?? 0) > 0;
    const excess = budget.take(budgeted, read.texts, read.linesDropped);
    if (excess !== undefined) return { ...read, texts: tooLarge(rule, excess) };
    if (!isDropped) return read;
    return { rule, ...(await this.#options.texts.read(rule, { ...freshness, restoresDropped: true })) };
  }

  /** Starts and stops polling for these references, and returns how changes of each text are detected. */
  follow({ meta }: DeclaredInstance, references: References): References {
    const { key, missing } = references;
    const { namespace, name } = meta;
    const polledKey = `key ${nameKey(meta)}`;
    const poll = async (formerProblem: string): Promise<boolean> => this.#pollKey({ namespace, name }, formerProblem);
    if (key.state === "Present") this.#poller.delete(polledKey);
    else {
      const { problem } = key;
      this.#poller.add({ key: polledKey, group: namespace, pace: "Missing", poll: async () => await poll(problem) });
    }
    const rules = references.rules.map((gathered) => {
      const { meta: home, addressesFrom } = gathered.rule;
      if (addressesFrom.length === 0 || references.refused.has(gathered.rule)) return gathered;
      const names = addressesFrom.map((source) => ({ namespace: home.namespace, name: source.name }));
      return { ...gathered, refresh: names.map((map) => this.#followConfigMap(map, missing.has(nameKey(map)))) };
    });
    return { ...references, rules };
  }

  #followConfigMap(name: ObjectName, isMissing: boolean): TextRefresh {
    const key = `configmap ${nameKey(name)}`;
    if (this.#options.texts.isWatched(name)) {
      this.#poller.delete(key);
      return "Watched";
    }
    const pace = isMissing ? "Missing" : "Existing";
    this.#poller.add({ key, group: name.namespace, pace, poll: async () => await this.#pollConfigMap(name) });
    return this.#poller.has(key) ? "Polled" : "Resync";
  }

  async #pollKey(name: ObjectName, formerProblem: string): Promise<boolean> {
    const { keys, changes, instanceOf } = this.#options;
    const instance = instanceOf(name);
    if (instance === undefined) return true;
    keys.refresh(name);
    const key = await keys.read(instance, instance.resyncIntervalMs);
    if (key.state === "Missing" && key.problem === formerProblem) return false;
    changes.touch(name, "Secret changed");
    return true;
  }

  async #pollConfigMap(name: ObjectName): Promise<boolean> {
    const { stores, texts } = this.#options;
    const isUsed = stores.byKind.WafIpRule.listBy("configMap", nameKey(name)).length > 0;
    if (!isUsed || stores.configMaps.get(nameKey(name)) !== undefined) return true;
    await texts.check(name);
    return false;
  }
}

function hasSources({ rule }: BudgetedRule): boolean {
  return rule.addressesFrom.length > 0;
}
