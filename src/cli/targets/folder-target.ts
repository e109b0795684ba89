// The instances of a folder, with the inventory, statuses and history in its state directory, and with Git metadata.
import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { CallWaf, CalledWaf } from "../../app/waf-clients.ts";
import { environmentForPrograms, readEnvironment } from "../../app/config.ts";
import { environmentKeyOf } from "../../app/base-url-policy.ts";
import { realClock } from "../../async/clock.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { Gathered } from "../../model/gathered.ts";
import { type ObjectName, nameKey, type ResourceRef, resourceKey } from "../../model/resource.ts";
import { asSentence, capitalized } from "../../model/sentence.ts";
import { FileRecordStore } from "../../records/file-record-store.ts";
import { DirectorySource } from "../../source/directory/directory-source.ts";
import { unattachedOf } from "../../source/directory/gather.ts";
import { type DirectorySnapshot, placeOfSource } from "../../source/directory/snapshot.ts";
import { faultText } from "../../source/directory/source-fault.ts";
import { type StateDirectory, userOfState, viewStateDirectory } from "../../source/directory/state-directory.ts";
import { readStatusFile, statusFile } from "../../source/directory/status-files.ts";
import type { CommandRule } from "../command-rule.ts";
import { CommandError } from "../describe-error.ts";
import type { Session } from "../session.ts";
import { approveInFile, fileOfRule, removeRuleFile, writeRuleFile } from "./folder-files.ts";
import { type FolderOptions, type FolderPlace, folderPlace, previewHolds, settleFolder } from "./folder-runs.ts";
import { type WafWork, commandCalls } from "./open-waf.ts";
import { policyOf } from "./target-options.ts";
import {
  type DeclaredSight,
  type InstanceSight,
  type LastChange,
  type Seen,
  type SeenObject,
  Target,
  unrecorded,
} from "./target.ts";
import { type OnHold, type RuleChanges, type Settlement, type Waiting, onHoldIn } from "./rule-changes.ts";

export async function openFolder(options: FolderOptions, session: Session, how?: WafWork): Promise<Target> {
  const place = await folderPlace(options, session.redactor);
  const environmentKey = environmentKeyOf(readEnvironment(), policyOf(options).allowedBaseUrls);
  const source = new DirectorySource({ ...place, environmentKey, clock: realClock });
  session.atEnd(async () => await source.close());
  await source.load();
  return new FolderTarget(place, source, commandCalls(options, session, how));
}

class FolderTarget extends Target {
  readonly where: string;
  readonly namespace = undefined;
  readonly #place: FolderPlace;
  readonly #source: DirectorySource;
  readonly #statuses = new FolderStatuses();

  constructor(place: FolderPlace, source: DirectorySource, call: CallWaf) {
    super(place.redactor, call, new FileRecordStore(viewStateDirectory(place.stateDirectory)));
    this.#place = place;
    this.#source = source;
    this.where = `in folder ${place.directory}`;
  }

  async instances(): Promise<readonly ObjectName[]> {
    return this.#source.instances();
  }

  protected async readDeclared(instance: ObjectName): Promise<DeclaredSight> {
    const { directory, stateDirectory } = this.#place;
    const snapshot = this.#source.snapshot();
    const gathered = await this.#gather(instance);
    if (gathered.key.state === "Present") this.redactor.add(gathered.key.key);
    const state = viewStateDirectory(stateDirectory);
    return {
      gathered,
      gapOf: {
        absent: unrecorded(instance, `${stateDirectory}. If it is elsewhere, set --state`),
        unloaded: undefined,
      },
      readFeed: async (name) => ({
        feed: snapshot.declared.WafFeed.find(({ meta }) => nameKey(meta) === nameKey(name)),
      }),
      unattached: unattachedRules(snapshot),
      gaps: gapsOf(snapshot),
      placeOf: (meta, from) => (from === undefined ? meta.location : placeOfSource(snapshot, meta, from)),
      statusOf: (object) => readStatusFile(state, object),
      setterOf: async (meta) => await lastCommitOf(resolve(directory), meta.location.replace(/:\d+$/, "")),
    };
  }

  /** @throws CommandError if there is no such instance */
  async #gather(instance: ObjectName): Promise<Gathered> {
    const gathered = await this.#source.gather(instance);
    if (gathered !== undefined) return gathered;
    throw new CommandError(`there is no WafInstance ${nameKey(instance)} ${this.where}`);
  }

  async see(): Promise<Seen> {
    const snapshot = await this.#source.load();
    const state = viewStateDirectory(this.#place.stateDirectory);
    const objects = await seenObjects(snapshot, async (ref) => await this.#statuses.read(state, ref));
    return { atMs: realClock.nowMs(), where: this.where, objects, refused: undefined, gaps: gapsOf(snapshot) };
  }

  keyOf({ key }: Gathered): CalledWaf<ApiKey> {
    return key.state === "Present" ? { ok: true, value: key.key } : { ok: false, problem: key.problem };
  }

  /** The processes of one machine take turns. */
  isBusy(): boolean {
    return false;
  }

  namespaceOfRules({ namespace }: ObjectName): string {
    return namespace;
  }

  async placeOfRule(name: ObjectName): Promise<string> {
    return join(this.#place.directory, await this.#fileOf(name));
  }

  protected async putRule(rule: CommandRule): Promise<void> {
    await writeRuleFile(this.#place.directory, await this.#fileOf(rule), rule);
  }

  async deleteRule(rule: ObjectName, written?: CommandRule): Promise<void> {
    await removeRuleFile(this.#place.directory, await this.#fileOf(rule), written);
  }

  protected async settle(changes: RuleChanges, written: readonly CommandRule[], wait: Waiting): Promise<Settlement> {
    await this.#source.load();
    return await settleFolder({ ...this.#place, ...changes, written }, wait);
  }

  /** `block` and `apply` end soon. */
  protected async isFollowed(): Promise<boolean> {
    return (await userOfState(this.#place.stateDirectory, realClock))?.command === "wafsync run";
  }

  async removalsOnHold(instance: ObjectName): Promise<OnHold> {
    if ((await userOfState(this.#place.stateDirectory, realClock)) === undefined) {
      return await previewHolds(this.#place, instance);
    }
    const { gathered, statusOf } = await this.look(instance, { live: false });
    return await this.withEveryEntry(instance, onHoldIn(statusOf(gathered.instance.meta)));
  }

  async approve(instance: ObjectName, hash: string): Promise<string> {
    return await approveInFile(this.#place.directory, (await this.#gather(instance)).instance.meta, hash);
  }

  protected historyForbidden(): undefined {
    return undefined;
  }

  async #fileOf(rule: ObjectName): Promise<string> {
    return await fileOfRule(this.#place.directory, this.#source.snapshot(), rule);
  }
}

/** The statuses as the files had them, read again only if their files have changed: a page may show thousands of objects. */
class FolderStatuses {
  readonly #known = new Map<string, { readonly stamp: string; readonly status: SeenObject["status"] }>();

  async read(state: StateDirectory, ref: ResourceRef): Promise<SeenObject["status"]> {
    const found = await stat(state.pathOf(statusFile(ref))).catch(() => undefined);
    const stamp = found === undefined ? "" : `${found.mtimeMs} ${found.size} ${found.ino}`;
    const known = this.#known.get(resourceKey(ref));
    if (known?.stamp === stamp) return known.status;
    const status = found === undefined ? undefined : readStatusFile(state, ref);
    this.#known.set(resourceKey(ref), { stamp, status });
    return status;
  }
}

async function seenObjects(
  snapshot: DirectorySnapshot,
  statusOf: (object: ResourceRef) => Promise<SeenObject["status"]>,
): Promise<readonly SeenObject[]> {
  const problems = problemsOf(snapshot);
  return await Promise.all(
    Object.values(snapshot.declared)
      .flat()
      .map(async ({ meta, ...spec }) => {
        const { kind, namespace, name } = meta;
        const { instance, description, baseUrl, suspend }: Partial<SeenObject> = spec;
        const problem = problems.get(resourceKey(meta));
        // No run writes this one: the stored status of such an object is that of its former instance.
        const status = problem === undefined ? await statusOf(meta) : { conditions: [unattachedCondition(problem)] };
        const placeOf = (source?: string) =>
          source === undefined ? meta.location : placeOfSource(snapshot, meta, source);
        return { kind, namespace, name, status, instance, description, baseUrl, suspend, placeOf };
      }),
  );
}

function gapsOf({ faults }: DirectorySnapshot): string[] {
  return faults.flatMap((fault) => (fault.severity === "Error" ? [asSentence(faultText(fault))] : []));
}

function unattachedCondition(message: string): object {
  return { type: "Ready", status: "False", reason: "InstanceNotFound", message };
}

/** The rules that no run covers. */
function unattachedRules(snapshot: DirectorySnapshot): InstanceSight["unattached"] {
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

const gitTimeoutMs = 2_000;

/**
 * With `--no-show-signature` and without transports, the configuration of an untrusted repository starts no program. A folder from a
 * pull request can itself look like a bare repository.
 */
const safeSettings = ["safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null"];
/** Otherwise Git would fetch missing objects. */
const safeEnvironment = { GIT_ALLOW_PROTOCOL: "", GIT_TERMINAL_PROMPT: "0" };

/**
 * The last author of a file, if it is in a Git repository and Git is installed. For information only.
 * @param file below the directory
 */
export async function lastCommitOf(directory: string, file: string): Promise<LastChange | undefined> {
  const settings = safeSettings.flatMap((setting) => ["-c", setting]);
  const query = ["--no-pager", "log", "-1", "--no-show-signature", "--format=%an%x09%aI", "--", file];
  const options = { timeout: gitTimeoutMs, env: environmentForPrograms(safeEnvironment) };
  const output = await new Promise<string>((done) => {
    execFile("git", ["-C", directory, ...settings, ...query], options, (error, stdout) =>
      done(error === null ? stdout : ""),
    );
  });
  const [author = "", time = ""] = output.trim().split("\t");
  return author === "" || time === "" ? undefined : { author, time };
}
