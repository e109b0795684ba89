// Reads all objects of a folder, and their statuses in the state directory. A status is parsed again only if its file has
// changed, and other work can run in between, because there may be thousands of files.
import { stat } from "node:fs/promises";
import { type ResourceRef, resourceKey } from "../../model/resource.ts";
import { asSentence, capitalized } from "../../model/sentence.ts";
import { type DirectorySnapshot, placeOfSource } from "../../source/directory/snapshot.ts";
import { faultText } from "../../source/directory/source-fault.ts";
import type { StateDirectory } from "../../source/directory/state-directory.ts";
import { readStatusFile, statusFile } from "../../source/directory/status-files.ts";
import { unattachedOf } from "../../source/directory/gather.ts";
import type { InstanceSight, Seen, SeenObject } from "./target.ts";

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
  const { faults } = snapshot;
  const declared = Object.values(snapshot.declared).flat();
  const statusOf = await statuses.read(
    state,
    declared.map(({ meta }) => meta),
  );
  const problems = problemsOf(snapshot);
  const objects = declared.map(({ meta, ...spec }) => {
    const { kind, namespace, name } = meta;
    const { instance, description, baseUrl, suspend }: Partial<SeenObject> = spec;
    const problem = problems.get(resourceKey(meta));
    // No run writes this one: the stored status of such an object is that of its former instance.
    const status = problem === undefined ? statusOf(meta) : { conditions: [unattachedCondition(problem)] };
    const placeOf = (source?: string) => (source === undefined ? meta.location : placeOfSource(snapshot, meta, source));
    return { kind, namespace, name, status, instance, description, baseUrl, suspend, placeOf };
  });
  const gaps = faults.flatMap((fault) => (fault.severity === "Error" ? [asSentence(faultText(fault))] : []));
  return { atMs, where, objects, refused: undefined, gaps };
}

function unattachedCondition(message: string): object {
  return { type: "Ready", status: "False", reason: "InstanceNotFound", message };
}

/** The rules that no run covers. */
export function unattachedRules(snapshot: DirectorySnapshot): InstanceSight["unattached"] {
  const problems = problemsOf(snapshot);
  return snapshot.declared.WafIpRule.flatMap((rule) => {
    const message = problems.get(resourceKey(rule.meta));
    return message === undefined ? [] : [{ rule, message }];
  });
}

/** Why objects are attached to no instance, as a condition says it. */
function problemsOf(snapshot: DirectorySnapshot): ReadonlyMap<string, string> {
  return new Map(
    unattachedOf(snapshot).map(({ declared, problem }) => [
      resourceKey(declared.meta),
      asSentence(capitalized(problem)),
    ]),
  );
}
