// The instances of a folder, with the inventory, statuses and history in its state directory, and with Git metadata.
import { join, resolve } from "node:path";
import type { CalledWaf, CallWaf, ReadingWaf } from "../../app/waf-clients.ts";
import { readEnvironment } from "../../app/config.ts";
import { environmentKeyOf } from "../../app/base-url-policy.ts";
import { realClock } from "../../async/clock.ts";
import { Redactor } from "../../model/redactor.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { FeedRecords } from "../../records/feed-records.ts";
import { FileRecordStore } from "../../records/file-record-store.ts";
import { HistoryRecords } from "../../records/history-records.ts";
import { createInventoryRecords } from "../../records/inventory-records.ts";
import { LogRecords } from "../../records/log-records.ts";
import type { DirectorySource } from "../../source/directory/directory-source.ts";
import { createDirectorySource } from "../../source/directory/directory-source.ts";
import { placeOfSource } from "../../source/directory/snapshot.ts";
import { faultText } from "../../source/directory/source-fault.ts";
import { userOfState, viewStateDirectory } from "../../source/directory/state-directory.ts";
import { statusFilesIn } from "../../source/directory/status-files.ts";
import { expiredRule } from "../command-rule.ts";
import { CommandError } from "../describe-error.ts";
import { requireFolder } from "../require-folder.ts";
import { approveInFile } from "./approve-folder.ts";
import { viewOfFeed, withFeedTexts } from "./feed-texts.ts";
import { lastCommitOf } from "./git-author.ts";
import { withRecordedBlocks } from "./judged-rules.ts";
import { commandCalls, readLists } from "./live-lists.ts";
import { previewHolds } from "./preview-holds.ts";
import { isFollowed, settleFolder } from "./settle-folder.ts";
import type { ChangeOutcome, RuleChanges, WaitOptions } from "./rule-changes.ts";
import { expectedEntries, keptOnSuccess } from "./rule-changes.ts";
import { fileOfRule, removeRuleFile, writeRuleFile } from "./rule-files.ts";
import { FolderStatuses, seeFolder, unattachedRules } from "./see-folder.ts";
import type { Seen } from "./seen.ts";
import { busy, isReconciling, onHoldIn } from "./reported-status.ts";
import type { InstanceSight, LookOptions, OnHold, Target, TargetOptions, UnreadSight } from "./target.ts";
import { policyOf, recorded, unrecorded, withLists } from "./target.ts";

const defaultStateFolder = ".wafsync";

export async function openFolder(options: TargetOptions, directory: string): Promise<Target> {
  await requireFolder(directory, options.state);
  const stateDirectory = options.state ?? join(directory, defaultStateFolder);
  const environmentKey = environmentKeyOf(readEnvironment(), policyOf(options).allowedBaseUrls);
  const source = createDirectorySource({ directory, stateDirectory, environmentKey, clock: realClock });
  await source.load();
  return new FolderTarget(options, { directory, stateDirectory, source });
}

interface Folder {
  readonly directory: string;
  readonly stateDirectory: string;
  readonly source: DirectorySource;
}

class FolderTarget implements Target {
  readonly where: string;
  readonly redactor = new Redactor();
  readonly #options: TargetOptions;
  readonly #folder: Folder;
  readonly #statuses = new FolderStatuses();
  readonly #call: CallWaf;

  constructor(options: TargetOptions, folder: Folder) {
    this.#options = options;
    this.#folder = folder;
    this.#call = commandCalls({ policy: policyOf(options), redactor: this.redactor });
    this.where = `in folder ${folder.directory}`;
  }

  async instances(): Promise<readonly ObjectName[]> {
    return this.#folder.source.instances();
  }

  async look(instance: ObjectName, options: LookOptions): Promise<InstanceSight> {
    const { source, directory, stateDirectory } = this.#folder;
    const declared = await source.gather(instance);
    if (declared === undefined) throw new CommandError(`there is no WafInstance ${nameKey(instance)} ${this.where}`);
    const { key } = declared;
    if (key.state === "Present") this.redactor.add(key.key);
    const state = viewStateDirectory(stateDirectory);
    const records = new FileRecordStore(state);
    const fed = await withFeedTexts(declared, async (name) => {
      const feed = source.snapshot().feeds.find(({ meta }) => nameKey(meta) === nameKey(name));
      return await viewOfFeed(feed, await new FeedRecords(records).load(name));
    });
    const gathered = await withRecordedBlocks(fed, async (name) => await new LogRecords(records).load(name));
    const loaded = await createInventoryRecords(records).load(instance);
    const statusOf = statusFilesIn(state);
    const gaps = source.faults().flatMap((fault) => (fault.severity === "Error" ? [`${faultText(fault)}.`] : []));
    const sight: UnreadSight = {
      gathered,
      inventory: recorded(loaded),
      unattached: unattachedRules(source.snapshot()),
      gaps: [...gaps, ...unrecorded(loaded, instance, `${stateDirectory}. If it is elsewhere, set --state`)],
      placeOf: (meta, from) => (from === undefined ? meta.location : placeOfSource(source.snapshot(), meta, from)),
      statusOf,
      setterOf: async (meta) => await lastCommitOf(resolve(directory), meta.location.replace(/:\d+$/, "")),
    };
    const declaredKey = { instance: gathered.instance, isInFolder: true };
    return await withLists(
      sight,
      options,
      async (blocked) => await this.callWaf(sight, async (waf) => await readLists(waf, declaredKey, blocked)),
    );
  }

  async see(): Promise<Seen> {
    const { source, stateDirectory } = this.#folder;
    const snapshot = await source.load();
    const state = viewStateDirectory(stateDirectory);
    return await seeFolder(this.#statuses, snapshot, { state, where: this.where, atMs: realClock.nowMs() });
  }

  async callWaf<T>({ gathered, statusOf }: UnreadSight, work: (waf: ReadingWaf) => Promise<T>): Promise<CalledWaf<T>> {
    const { key, instance } = gathered;
    if (key.state === "Missing") return { ok: false, problem: key.problem };
    const isWriting =
      isReconciling(statusOf(instance.meta)) &&
      (await userOfState(this.#folder.stateDirectory, realClock)) !== undefined;
    return isWriting ? busy : await this.#call(instance, key.key, work);
  }

  namespaceOfRules({ namespace }: ObjectName): string {
    return namespace;
  }

  async placeOfRule(name: ObjectName): Promise<string> {
    const { directory, source } = this.#folder;
    return join(directory, await fileOfRule(directory, source.snapshot(), name));
  }

  async change(changes: RuleChanges, wait: WaitOptions | undefined): Promise<ChangeOutcome> {
    const { directory, source, stateDirectory } = this.#folder;
    const { instance, put, remove } = changes;
    const files = await Promise.all(
      remove.map(async ({ meta }) => await fileOfRule(directory, source.snapshot(), meta)),
    );
    const expired = wait === undefined ? [] : remove.map(expiredRule);
    const written = [...put, ...expired];
    for (const rule of written) {
      await writeRuleFile(directory, await fileOfRule(directory, source.snapshot(), rule), rule);
    }
    await source.load();
    if (wait === undefined) {
      for (const file of files) await removeRuleFile(directory, file);
      return { state: "NotWaited", message: "", isFollowed: await isFollowed(stateDirectory) };
    }
    const outcome = await settleFolder(
      {
        directory,
        stateDirectory,
        options: this.#options,
        instance,
        written,
        expected: expectedEntries(changes),
        redactor: this.redactor,
        readLists: async () => (await this.look(instance, { live: true })).live,
      },
      wait,
    );
    // Pending removals do not need the files.
    for (const [index, file] of files.entries()) await removeRuleFile(directory, file, expired[index]);
    return outcome;
  }

  async tidy(rules: readonly ObjectName[]): Promise<readonly ObjectName[]> {
    const { directory, source } = this.#folder;
    return await keptOnSuccess(rules, async (rule) => {
      await removeRuleFile(directory, await fileOfRule(directory, source.snapshot(), rule));
    });
  }

  async removalsOnHold(instance: ObjectName): Promise<OnHold> {
    const { directory, stateDirectory } = this.#folder;
    if ((await userOfState(stateDirectory, realClock)) !== undefined) {
      const { gathered, statusOf } = await this.look(instance, { live: false });
      return onHoldIn(statusOf(gathered.instance.meta));
    }
    const { redactor } = this;
    return await previewHolds({ directory, stateDirectory, options: this.#options, redactor }, instance);
  }

  async approve(instance: ObjectName, hash: string): Promise<string> {
    const { directory, source } = this.#folder;
    const gathered = await source.gather(instance);
    if (gathered === undefined) throw new CommandError(`there is no WafInstance ${nameKey(instance)} ${this.where}`);
    return await approveInFile(directory, gathered.instance.meta, hash);
  }

  async history(instance: ObjectName) {
    const records = new FileRecordStore(viewStateDirectory(this.#folder.stateDirectory));
    const read = await new HistoryRecords(records, () => realClock.nowMs()).read(instance);
    if (!read.ok) throw new CommandError(`the history cannot be read: ${read.problem}`);
    return read.events;
  }

  async close(): Promise<void> {
    await this.#folder.source.close();
  }
}
