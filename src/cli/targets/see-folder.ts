// Reads all objects of a folder, and their statuses in the state directory. A status is parsed again only if its file has
// changed, and other work can run in between, because there may be thousands of files.
import { stat } from "node:fs/promises";
import type { ResourceRef } from "../../model/resource.ts";
import { resourceKey } from "../../model/resource.ts";
import { asSentence, capitalized } from "../../model/sentence.ts";
import type { DirectorySnapshot } from "../../source/directory/snapshot.ts";
import { faultText } from "../../source/directory/source-fault.ts";
import type { StateDirectory } from "../../source/directory/state-directory.ts";
import { readStatusFile, statusFile } from "../../source/directory/status-files.ts";
import { unattachedOf } from "../../source/directory/gather.ts";
import type { InstanceSight, Seen, SeenObject } from "./target.ts";
import { byName } from "./target.ts";

const readAtOnceMax = 32;

interface KnownStatus {
  /** Changes with the file. */
  readonly stamp: string;
  readonly status: SeenObject["status"];
}

export class FolderStatuses {
  #known: ReadonlyMap<string, KnownStatus> = new Map();

  /** Reads the statuses of these objects, and forgets those of all others. */
  async read(
    state: StateDirectory,
    objects: readonly ResourceRef[],
  ): Promise<(ref: ResourceRef) => SeenObject["status"]> {
    const next = new Map<string, KnownStatus>();
    for (let start = 0; start < objects.length; start += readAtOnceMax) {
      const some = objects.slice(start, start + readAtOnceMax);
      const read = await Promise.all(some.map(async (ref) => await this.#readOne(state, ref)));
      for (const [key, known] of read) next.set(key, known);
    }
    this.#known = next;
    return (ref) => next.get(resourceKey(ref))?.status;
  }

  async #readOne(state: StateDirectory, ref: ResourceRef): Promise<readonly [string, KnownStatus]> {
    const key = resourceKey(ref);
    const found = await stat(state.pathOf(statusFile(ref))).catch(() => undefined);
    const stamp = found === undefined ? "" : `${found.mtimeMs} ${found.size} ${found.ino}`;
    const known = this.#known.get(key);
    if (known?.stamp === stamp) return [key, known];
    return [key, { stamp, status: found === undefined ? undefined : readStatusFile(state, ref) }];
  }
}

export async function seeFolder(
  statuses: FolderStatuses,
  snapshot: DirectorySnapshot,
  { state, where, atMs }: { readonly state: StateDirectory; readonly where: string; readonly atMs: number },
): Promise<Seen> {
  const { instances, rules, origins, autoBlocks, cacheClears, feeds, faults } = snapshot;
  const attached = [...rules, ...origins, ...autoBlocks, ...cacheClears];
  const metas = [...instances.values(), ...attached, ...feeds].map(({ meta }) => meta);
  const statusOf = await statuses.read(state, metas);
  const seen = <Ref extends ResourceRef>({ kind, namespace, name }: Ref) => {
    const ref = { kind, namespace, name } as Pick<Ref, "kind" | "namespace" | "name">;
    return { ...ref, status: statusOf({ kind, namespace, name }) };
  };
  const unattached = unattachedStatuses(snapshot);
  return {
    atMs,
    where,
    instances: byName(
      [...instances.values()].map(({ meta, baseUrl, suspend }) => ({
        ...seen(meta),
        kind: "WafInstance" as const,
        baseUrl,
        isSuspended: suspend,
      })),
    ),
    attached: attached.map(({ meta, instance, ...spec }) => {
      const description = "description" in spec ? spec.description : undefined;
      return { ...seen(meta), ...unattached.get(resourceKey(meta)), instance, description };
    }),
    feeds: byName(feeds.map(({ meta }) => seen(meta))),
    refused: undefined,
    gaps: faults.flatMap((fault) => (fault.severity === "Error" ? [`${faultText(fault)}.`] : [])),
  };
}

/** No run writes these: the stored status of such an object is that of its former instance. */
function unattachedStatuses(snapshot: DirectorySnapshot): ReadonlyMap<string, Pick<SeenObject, "status">> {
  return new Map(
    unattachedOf(snapshot).map(({ meta, problem }) => {
      const ready = { type: "Ready", status: "False", reason: "InstanceNotFound", message: asCondition(problem) };
      return [resourceKey(meta), { status: { conditions: [ready] } }];
    }),
  );
}

/** The rules that no run covers. */
export function unattachedRules(snapshot: DirectorySnapshot): InstanceSight["unattached"] {
  const problems = new Map(unattachedOf(snapshot).map(({ meta, problem }) => [resourceKey(meta), problem]));
  return snapshot.rules.flatMap((rule) => {
    const problem = problems.get(resourceKey(rule.meta));
    return problem === undefined ? [] : [{ rule, message: asCondition(problem) }];
  });
}

/** As a condition says it. */
function asCondition(problem: string): string {
  return asSentence(capitalized(problem));
}
