// Reads what the instance and its rules refer to: the Secret with the API key, and the ConfigMaps with addresses. The owner's
// ConfigMaps come first. A run waits only briefly for those of guests, and their grant limits the size of each text.
import type { Clock } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import { TimeSlices } from "../../async/time-slices.ts";
import type { DeclaredInstance, DeclaredRule, Grant } from "../../model/declared.ts";
import type { AddressText, Gathered } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { parseInSlices } from "../../plan/lists/rule-entries.ts";
import type { References } from "../gather.ts";
import type { ApiKeys } from "./api-keys.ts";
import type { GrantedRule } from "./attached-namespaces.ts";
import type { ConfigMaps } from "./config-maps.ts";
import type { InstanceChanges } from "./instance-changes.ts";

/** How long a run waits for ConfigMaps of guests: an urgent address of the owner waits as long. A fresh read waits for all. */
export const guestWaitMsMax = 250;
/** The size of a guest's text, in characters: for each granted entry, because lines may have comments, and at least. */
const charactersOfEntry = 128;
const charactersOfGuestMin = 64 * 1024;

export interface InstanceReferencesOptions {
  readonly clock: Clock;
  readonly keys: ApiKeys;
  readonly maps: ConfigMaps;
  readonly changes: Pick<InstanceChanges, "sharing" | "touch" | "unreadRivals">;
}

export class InstanceReferences {
  readonly #options: InstanceReferencesOptions;

  constructor(options: InstanceReferencesOptions) {
    this.#options = options;
  }

  /**
   * Also tries once to read the keys of other instances of which this one could be a duplicate.
   * @param isFresh whether ConfigMaps are read even if the watch shows no change
   */
  async read(instance: DeclaredInstance, rules: readonly GrantedRule[], isFresh: boolean): Promise<References> {
    const { keys, changes } = this.#options;
    const [key] = await Promise.all([
      keys.read(instance, instance.resyncIntervalMs),
      this.#load(instance, rules, isFresh),
      Promise.all(changes.unreadRivals(instance).map(async (peer) => await keys.ensureTried(peer))),
    ]);
    return {
      key,
      rules: await this.#texts(rules),
      problems: this.#problems(rules),
      sameKey: key.state === "Present" ? changes.sharing(instance.meta, key.key).map(({ meta }) => meta) : [],
    };
  }

  /** Ends when the ConfigMaps of guests take too long: then their last content is used, and the end of the reads is a change. */
  async #load({ meta }: DeclaredInstance, rules: readonly GrantedRule[], isFresh: boolean): Promise<void> {
    const { clock, maps, changes } = this.#options;
    const load = async ({ rule, grant }: GrantedRule): Promise<void> => {
      const options = { lengthMax: charactersMax(grant), isFresh };
      await Promise.all(mapNamesOf(rule).map(async (name) => await maps.load(name, options)));
    };
    const attached = rules.filter(({ isAttached }) => isAttached);
    const ofOwner = attached.filter(({ grant }) => grant === undefined).map(load);
    const ofGuests = Promise.all(attached.filter(({ grant }) => grant !== undefined).map(load));
    await Promise.all(ofOwner);
    if (isFresh) return void (await ofGuests);
    const { inTime } = await withDeadline({ clock, timeoutMs: guestWaitMsMax }, async () => await ofGuests);
    if (!inTime) void ofGuests.then(() => changes.touch(meta, "ConfigMaps of guests were read"));
  }

  /** Parses the texts in slices. */
  async #texts(rules: readonly GrantedRule[]): Promise<Gathered["rules"]> {
    const slices = new TimeSlices(this.#options.clock);
    const gathered: { readonly rule: DeclaredRule; readonly texts: readonly AddressText[] }[] = [];
    for (const { rule, isAttached } of rules) {
      const { namespace } = rule.meta;
      const used = isAttached ? rule.addressesFrom : [];
      const texts = used.map(({ name, key }) => this.#options.maps.text({ namespace, name }, key));
      for (const _ of parseInSlices({ rule, texts })) if (slices.isOver) await slices.pause();
      gathered.push({ rule, texts });
      if (slices.isOver) await slices.pause();
    }
    return gathered;
  }

  #problems(rules: readonly GrantedRule[]): string[] {
    const attached = rules.filter(({ isAttached }) => isAttached);
    const problems = attached.flatMap(({ rule }) =>
      mapNamesOf(rule).flatMap((name) => this.#options.maps.problem(name) ?? []),
    );
    return [...new Set(problems)];
  }
}

function charactersMax(grant: Grant | undefined): number {
  if (grant === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(grant.maxEntries * charactersOfEntry, charactersOfGuestMin);
}

function mapNamesOf({ meta: { namespace }, addressesFrom }: DeclaredRule): ObjectName[] {
  const names = addressesFrom.map(({ name }): ObjectName => ({ namespace, name }));
  return [...new Map(names.map((name) => [nameKey(name), name])).values()];
}
