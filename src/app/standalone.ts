// wafsync without a cluster: the use cases on a directory of YAML files, with inventory and status in a state directory.
//
// Order of start: state directory (locked), files, WAFs. Order of stop: no new call, the running call, connections, lock.
import type { Clock } from "../async/clock.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import type { Redactor } from "../model/redactor.ts";
import type { ObjectName, ResourceMeta } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { lookAtEnd } from "../reconcile/cache-clear/advance-clears.ts";
import type { ConvergeOutcome } from "../reconcile/converge/run.ts";
import { convergeInstance, previewInstance } from "../reconcile/converge/run.ts";
import type { ConvergeFacts } from "../reconcile/facts.ts";
import { newInstanceMemory } from "../reconcile/converge/instance-memory.ts";
import type { ConvergeObserver, ConvergePorts, InventoryPort, StatusPort } from "../reconcile/ports.ts";
import { reportFacts } from "../reconcile/converge/report.ts";
import type { DirectorySource } from "../source/directory/directory-source.ts";
import { createDirectorySource } from "../source/directory/directory-source.ts";
import type { Unattached } from "../source/directory/gather.ts";
import { placeOfSource } from "../source/directory/place-of-field.ts";
import type { SourceFault } from "../source/directory/source-fault.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import { baseUrlObjection } from "./base-url-policy.ts";
import { InstanceController } from "./instance-controller.ts";
import type { OpenedStore } from "./standalone-store.ts";
import { openStore } from "./standalone-store.ts";
import type { Stopping } from "./stopping.ts";
import { WafClients } from "./waf-clients.ts";

/** `run --once` gives up on an instance after this many passes in a row that failed. */
const passesMax = 6;
/** It also ends after so many passes that waited for a cache clear; the deadline of each clear ends the wait sooner. */
const clearPassesMax = 50;

export interface StandaloneOptions {
  readonly directory: string;
  readonly stateDirectory: string;
  readonly baseUrls: BaseUrlPolicy;
  /** The key of instances whose Secret is not among the files. */
  readonly environmentKey: string | undefined;
  /** Nothing is written, neither to the WAF nor to the state directory, and no lock is taken. */
  readonly isDryRun: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly stopping: Stopping;
  readonly observer: ConvergeObserver;
  /** Told of every event, with the object that it is about. */
  readonly onEvent?: StatusPort["event"];
}

export interface InstanceResult {
  readonly instance: ObjectName;
  readonly outcome: ConvergeOutcome;
}

export interface Preview {
  readonly facts: ConvergeFacts;
  /** Cache clears that a run would see to: one call clears for all of them. */
  readonly pendingClears: readonly DeclaredCacheClear[];
}

export type OpenedStandalone =
  | { readonly ok: true; readonly standalone: Standalone }
  | { readonly ok: false; readonly problem: string };

/** Opens the state directory and reads the files. `problem` says what to do. */
export async function openStandalone(options: StandaloneOptions): Promise<OpenedStandalone> {
  const { directory, stateDirectory, environmentKey, clock } = options;
  const source = createDirectorySource({ directory, stateDirectory, environmentKey, clock });
  // Before the state directory is made, which lies in it as a rule: that is a change too, and changes are waited out.
  await source.load();
  const store = await openStore(options);
  if (!store.ok) {
    await source.close();
    return store;
  }
  return { ok: true, standalone: new Standalone(options, source, store) };
}

export class Standalone {
  readonly #options: StandaloneOptions;
  readonly #source: DirectorySource;
  readonly #store: OpenedStore;
  readonly #wafClients: WafClients;
  readonly #ports: ConvergePorts;

  constructor(options: StandaloneOptions, source: DirectorySource, store: OpenedStore) {
    this.#options = options;
    this.#source = source;
    this.#store = store;
    const { clock, isDryRun, stopping } = options;
    this.#wafClients = new WafClients({
      clock,
      permit: () => {
        if (isDryRun) return { permitted: false, reason: "This is a dry run: nothing is written." };
        if (stopping.stop.aborted) return { permitted: false, reason: "wafsync is stopping." };
        return { permitted: true };
      },
    });
    this.#ports = this.#makePorts(source, store.inventory, store.status);
  }

  /** What is wrong with the files, and what refers to an instance that is not declared. */
  faults(): { readonly faults: readonly SourceFault[]; readonly unattached: readonly Unattached[] } {
    return { faults: this.#source.faults(), unattached: this.#source.unattached() };
  }

  /** Instances that own entries by the inventory and are declared no more: their entries stay where they are. */
  async leftBehind(): Promise<readonly ObjectName[]> {
    const declared = new Set(this.#source.instances().map(nameKey));
    return (await this.#store.known()).filter((name) => !declared.has(nameKey(name)));
  }

  readStatus(...[meta]: Parameters<StatusPort["read"]>): ReturnType<StatusPort["read"]> {
    return this.#store.status.read(meta);
  }

  /** Where an entry stands that a status calls by its source, as `rules.yaml:12`. */
  placeOf(meta: ResourceMeta, source: string): string {
    return placeOfSource(this.#source.snapshot(), meta, source);
  }

  /** Why status or events could not be written, one sentence each: nothing else depends on them. */
  problems(): readonly string[] {
    return this.#store.problems();
  }

  /** The plan of every instance, without writing anything. */
  async preview(): Promise<readonly Preview[]> {
    const instances = this.#source.instances();
    const previews = await Promise.all(instances.map(async (name) => await this.#previewInstance(name)));
    return previews.filter((item) => item !== undefined);
  }

  /**
   * Brings every instance to its declared state; gives up on one after several failed passes. Instances run side by side.
   * Files are watched meanwhile, so that an urgent rule does not wait for the end of a long list.
   */
  async applyOnce(onFiles: () => Promise<void>): Promise<readonly InstanceResult[]> {
    await this.#forgetGone();
    const applied = new AbortController();
    let told = Promise.resolve();
    const watching = this.#source.watch(
      () => {
        told = told.then(onFiles);
      },
      AbortSignal.any([applied.signal, this.#options.stopping.stop]),
    );
    try {
      return await Promise.all(this.#source.instances().map(async (name) => await this.#applyInstance(name)));
    } finally {
      applied.abort();
      await watching;
      await told;
    }
  }

  /** Keeps every instance in its declared state, following changes of the files, until it is told to stop. */
  async follow(onFiles: () => void, onOutcome: (result: InstanceResult) => void): Promise<void> {
    const { clock, random, stopping } = this.#options;
    const controller = new InstanceController({
      ports: this.#ports,
      clock,
      random,
      onOutcome: (instance, outcome) => onOutcome({ instance, outcome }),
    });
    const wakeAll = (reason: string): void => {
      for (const instance of this.#source.instances()) controller.wake(instance, reason);
    };
    const running = controller.run(stopping.stop);
    await this.#forgetGone();
    await this.#source.watch(() => {
      onFiles();
      void this.#forgetGone();
      wakeAll("files changed");
    }, stopping.stop);
    wakeAll("start");
    await running;
  }

  /** Ends everything, the lock last. */
  async close(): Promise<void> {
    await this.#source.close();
    await this.#wafClients.close();
    await this.#store.close();
  }

  /** An object that is created anew under an old name begins anew. What can't be read just now is not gone. */
  async #forgetGone(): Promise<void> {
    const { items, faults } = this.#source.snapshot();
    if (faults.some(({ severity, isTransient }) => severity === "Error" || isTransient)) return;
    await this.#store.keepOnly([...items.values()].flatMap((item) => ("declared" in item ? [item.declared.meta] : [])));
  }

  async #previewInstance(name: ObjectName): Promise<Preview | undefined> {
    const memory = newInstanceMemory();
    const facts = await previewInstance(name, this.#ports, memory);
    if (facts === undefined) return undefined;
    const { due, waiting } = lookAtEnd(this.#ports, memory, facts);
    await reportFacts(this.#ports, memory, facts);
    return { facts, pendingClears: facts.end?.end === "Done" ? [...due, ...waiting] : [] };
  }

  async #applyInstance(instance: ObjectName): Promise<InstanceResult> {
    const { clock, stopping, observer } = this.#options;
    const memory = newInstanceMemory();
    for (let failures = 0, clearPasses = 0; ;) {
      const outcome = await convergeInstance(instance, this.#ports, memory);
      const { end, wakeAtMs, pendingClears } = outcome;
      const isForClears = end.end === "Done" && pendingClears > 0;
      failures = mayPass(outcome) ? failures + 1 : 0;
      clearPasses += isForClears ? 1 : 0;
      const goesOn = isForClears ? clearPasses < clearPassesMax : failures > 0 && failures < passesMax;
      if (!goesOn || wakeAtMs === undefined) return { instance, outcome };
      const delayMs = Math.max(0, wakeAtMs - clock.nowMs());
      const why = isForClears
        ? `${pendingClears === 1 ? "a cache clear is" : `${pendingClears} cache clears are`} still to be done`
        : `${end.end === "Failed" ? end.fault.message : "the lists keep changing"} (attempt ${failures} of ${passesMax})`;
      observer.waiting?.(instance, why, delayMs);
      await clock.sleep(delayMs, stopping.stop);
      if (stopping.stop.aborted) return { instance, outcome };
    }
  }

  #makePorts(source: DirectorySource, inventory: InventoryPort, status: StatusPort): ConvergePorts {
    const { clock, random, observer, stopping, baseUrls, redactor, onEvent } = this.#options;
    return {
      source: {
        gather: async (name) => {
          const gathered = await source.gather(name);
          if (gathered?.key.state === "Present") redactor.add(gathered.key.key);
          return gathered;
        },
        confirm: async (name) => await source.confirm(name),
        version: () => source.version(),
      },
      inventory,
      // Files that are gone are gone: nothing waits for them.
      lifecycle: { hold: async () => undefined, release: async () => undefined },
      openWaf: (instance, key) => this.#wafClients.open(instance, key),
      status: {
        read: (meta) => status.read(meta),
        write: async (meta, next) => await status.write(meta, next),
        event: (meta, event) => {
          status.event(meta, event);
          onEvent?.(meta, event);
        },
      },
      clock,
      random,
      observer,
      baseUrlObjection: (baseUrl) => baseUrlObjection(baseUrls, baseUrl),
      stopping: stopping.stop,
      abandon: stopping.abandon,
    };
  }
}

/** A failure that may be over at the next pass; a wrong key is not. */
function mayPass({ end }: ConvergeOutcome): boolean {
  if (end.end === "Unsettled" || end.end === "Outdated") return true;
  if (end.end !== "Failed") return false;
  const { code } = end.fault;
  return code !== "BadApiKey" && code !== "MissingApiKey" && code !== "NotFound" && code !== "ContractBroken";
}
