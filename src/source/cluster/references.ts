// What the objects of an instance declare, and what it refers to: the Secret with the API key, and the ConfigMaps and Secrets with addresses.
// Objects of namespaces without access are excluded first, so that nothing is read for them. Sources of the owner come first. A run waits
// only briefly for those of guests, and their grant limits the size of each text.
import type { DeclaredByKind } from "../../kinds/to-declared.ts";
import { type Clock, withDeadline } from "../../async/clock.ts";
import { TimeSlices } from "../../async/time-slices.ts";
import { decideAttachment, type Gathered } from "../../model/gathered.ts";
import type { DeclaredRule } from "../../model/declared.ts";
import { type GuestKind, resourceKey } from "../../model/resource.ts";
import { type AttachedObjects, byGuestKind, gather } from "../gather.ts";
import type { ApiKeys } from "./api-keys.ts";
import { refusalOf } from "./attachment.ts";
import { metaOfObject, parseObject, sourceKey } from "./cluster-object.ts";
import type { DataTexts } from "./data-texts.ts";
import type { InstanceObjects } from "./fresh-objects.ts";
import type { InstanceChanges } from "./instance-changes.ts";

/**
 * What the objects declare, and what they refer to. Thousands of objects are parsed in slices.
 * @param isFresh whether sources are read even if the watch shows no change
 * @returns also why sources could not be read, one sentence each
 */
export async function gatherObjects(
  { instance, referring, labelsOf }: InstanceObjects,
  reader: ReferenceReader,
  isFresh: boolean,
  known: Pick<Gathered, "brokenSources" | "brokenReferences" | "workloads">,
): Promise<{ readonly gathered: Gathered; readonly problems: readonly string[] }> {
  const slices = new TimeSlices(reader.clock);
  const attached = byGuestKind((): DeclaredByKind[GuestKind][] => []);
  const invalidObjects = new Map<string, string>();
  for (const object of referring) {
    if (slices.isOver) await slices.pause();
    if (refusalOf(instance, labelsOf, object) !== undefined) continue;
    const kind = object.kind as GuestKind;
    const parsed = parseObject<GuestKind>(object);
    if (parsed.ok) attached[kind].push(parsed.declared);
    // An invalid cache clear is not reported, because it declares no entry.
    else if (kind !== "WafCacheClear") {
      const key = resourceKey(metaOfObject(object));
      invalidObjects.set(key, `${key} is invalid: ${parsed.problem}`);
    }
  }
  const declared = attached as AttachedObjects;
  const { problems, ...read } = await readReferences(reader, { instance, labelsOf }, declared.WafIpRule, isFresh);
  const gathered = gather({
    ...known,
    ...read,
    instance,
    attached: declared,
    labelsOf,
    ...(invalidObjects.size > 0 && { invalidObjects }),
    brokenSources: [...known.brokenSources, ...problems],
  });
  return { gathered, problems };
}

/** How long a run waits for sources of guests: an urgent address of the owner waits as long. A fresh read waits for all. */
export const guestWaitMsMax = 250;
/** The size of a guest's text, in characters: for each granted entry, because lines may have comments, and at least. */
const charactersOfEntry = 128;
const charactersOfGuestMin = 64 * 1024;

/** Reads what instances and rules refer to. */
export interface ReferenceReader {
  readonly clock: Clock;
  readonly keys: ApiKeys;
  readonly texts: DataTexts;
  readonly changes: Pick<InstanceChanges, "sharing" | "touch" | "unreadRivals">;
}

/** Also tries once to read the keys of other instances of which this one could be a duplicate. */
async function readReferences(
  reader: ReferenceReader,
  { instance, labelsOf }: Pick<InstanceObjects, "instance" | "labelsOf">,
  declared: readonly DeclaredRule[],
  isFresh: boolean,
) {
  const { keys, changes, texts } = reader;
  const rules = declared.map((rule) => {
    const { namespace } = rule.meta;
    const attachment = decideAttachment(instance, "WafIpRule", namespace, labelsOf(namespace));
    if (attachment.state === "Allowed") return { rule, grant: attachment.grant, sources: rule.addressesFrom };
    // Its entries can't apply, so nothing is read for it.
    return { rule, grant: undefined, sources: [] };
  });
  const load = async ({ grant, sources }: (typeof rules)[number]): Promise<void> => {
    const granted = Math.max((grant?.maxEntries ?? 0) * charactersOfEntry, charactersOfGuestMin);
    const lengthMax = grant === undefined ? Number.POSITIVE_INFINITY : granted;
    const options = { lengthMax, ageMsMax: instance.resyncIntervalMs, isFresh };
    const objects = new Map(sources.map((source) => [sourceKey(source), source]));
    await Promise.all([...objects.values()].map(async (object) => await texts.load(object, options)));
  };
  const rivals = changes.unreadRivals(instance);
  const ofOwner = rules.filter(({ grant }) => grant === undefined).map(load);
  const ofGuests = Promise.all(rules.filter(({ grant }) => grant !== undefined).map(load));
  const [key] = await Promise.all([
    keys.read(instance, instance.resyncIntervalMs),
    ...ofOwner,
    ...rivals.map(async (peer) => await keys.read(peer, Number.POSITIVE_INFINITY)),
  ]);
  if (isFresh) await ofGuests;
  const { inTime } = await withDeadline({ ...reader, timeoutMs: guestWaitMsMax }, async () => await ofGuests);
  // Then their last content is used, and the end of the reads is a change.
  if (!inTime) void ofGuests.then(() => changes.touch(instance.meta, "sources of guests were read"));
  const problems = rules.flatMap(({ sources }) => sources.flatMap((source) => texts.problem(source) ?? []));
  return {
    key,
    rules: rules.map(({ rule, sources }) => ({ rule, texts: sources.map((source) => texts.text(source)) })),
    problems: [...new Set(problems)],
    sameKey: key.state === "Present" ? changes.sharing(instance.meta, key.key).map(({ meta }) => meta) : [],
  };
}
