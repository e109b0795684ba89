// Runs the protocol and the reflector against a model of the API server with objects, versions, a window of history, watches,
// and all kinds of faults, from one seed. Whatever happens, the store must finally equal the server.
import { expect, test } from "@jest/globals";
import { localFault, type ApiFault } from "../../src/kube/api-server.ts";
import { objectKey } from "../../src/kube/kube-object.ts";
import {
  initialListWatch,
  type ListWatchCommand,
  type ListWatchEffect,
  type ListWatchInput,
  type ListWatchState,
  stepListWatch,
  type WatchEvent,
} from "../../src/kube/list-watch-step.ts";
import { createObjectStore, type ObjectChange } from "../../src/kube/store.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { testObject, type TestObject } from "../support/fakes/scripted-api-server.ts";
import { caseCount } from "../support/builders/case-count.ts";

type ChangeEvent = Extract<WatchEvent, { object: unknown }>;
interface HistoryEntry {
  readonly version: number;
  readonly event: ChangeEvent;
}

/** A server with one kind, whose watches know only the latest changes. */
class ModelServer {
  objects = new Map<string, TestObject>();
  version = 100;
  history: HistoryEntry[] = [];
  readonly everHad = new Set([""]);
  compactedBelow = 100;
  restores = 0;
  #uids = 0;
  readonly #past: { readonly version: number; readonly objects: ReadonlyMap<string, TestObject> }[] = [
    { version: 100, objects: new Map() },
  ];

  edit(random: () => number): void {
    const name = `w${Math.floor(random() * 6)}`;
    const existing = this.objects.get(name);
    this.version += 1 + Math.floor(random() * 3);
    if (existing === undefined) {
      this.#uids += 1;
      return this.#record("ADDED", testObject(name, this.version, `uid-${this.#uids}`));
    }
    const next = testObject(name, this.version, existing.metadata.uid, `color-${this.version}`);
    this.#record(random() < 0.4 ? "DELETED" : "MODIFIED", next);
  }

  #record(type: ChangeEvent["type"], object: TestObject): void {
    if (type === "DELETED") this.objects.delete(object.metadata.name);
    else this.objects.set(object.metadata.name, object);
    this.history.push({ version: this.version, event: { type, object } });
    this.#past.push({ version: this.version, objects: new Map(this.objects) });
    this.everHad.add(contentsOf(this.objects.values()).join());
  }

  compact(): void {
    this.compactedBelow = this.version;
    this.history = [];
  }

  /** Restores an earlier state, as from a backup of etcd. */
  restore(random: () => number): void {
    const back = 1 + Math.floor(random() * 15);
    this.#past.splice(Math.max(1, this.#past.length - back));
    const backup = this.#past.at(-1);
    if (backup === undefined) return;
    this.objects = new Map(backup.objects);
    this.version = backup.version;
    this.compact();
    this.restores += 1;
  }
}

/** The data that one open stream has not sent yet. */
interface ModelStream {
  /** The next change to send is the first one above this version. */
  position: number;
  /** A restored server has only new connections. */
  readonly restores: number;
}

const bookmark = (version: number): WatchEvent => ({ type: "BOOKMARK", resourceVersion: String(version) });

class World {
  readonly server = new ModelServer();
  readonly store = createObjectStore<TestObject>({ color: ({ spec }) => [spec.color] });
  /** The state as derived only from the announcements. */
  readonly heard = new Map<string, TestObject>();
  readonly random: () => number;
  nowMs = 0;
  troubled = true;
  #state: ListWatchState = initialListWatch(0);
  #command: ListWatchCommand = { type: "List" };
  #stream: ModelStream | undefined;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  get isQuiet(): boolean {
    if (this.isAhead) return false;
    const last = this.server.history.at(-1)?.version ?? this.server.version;
    return this.#state.activity === "Watching" && this.#stream !== undefined && this.#stream.position >= last;
  }

  /** Set after a restore, until the list-watch has noticed it: passing its position before that would be undetectable. */
  get isAhead(): boolean {
    return Number(this.#state.lastSeenVersion) > this.server.version;
  }

  /** One event: the server sends something, a fault occurs, or time passes. */
  turn(): void {
    const input = this.#nextInput();
    if (input === undefined) return;
    const step = stepListWatch(this.#state, input, { nowMs: this.nowMs, random: this.random });
    this.#state = step.state;
    if (step.effect !== undefined) this.#apply(step.effect);
    if (step.command !== undefined) this.#begin(step.command);
  }

  #begin(command: ListWatchCommand): void {
    this.#command = command;
    this.#stream = undefined;
  }

  #nextInput(): ListWatchInput | undefined {
    const command = this.#command;
    if (command.type === "Wait") {
      this.nowMs += command.delayMs;
      return { type: "Waited" };
    }
    this.nowMs += 50;
    const trouble = this.troubled && this.random() < 0.15 ? this.#trouble(command) : undefined;
    if (trouble !== undefined) return trouble;
    if (command.type === "List") return this.#list();
    if (this.#stream === undefined) return this.#open(Number(command.position));
    return this.#nextLine(this.#stream);
  }

  #list(): ListWatchInput {
    const { objects, version } = this.server;
    return { type: "Listed", list: { items: [...objects.values()], resourceVersion: String(version) } };
  }

  #trouble(command: ListWatchCommand): ListWatchInput {
    const faults = [
      "Unavailable",
      "TooManyRequests",
      "TimedOut",
      "Forbidden",
      "NotFound",
      "ContractBroken",
      "Gone",
    ] as const;
    const code = faults[Math.floor(this.random() * faults.length)] ?? "Unavailable";
    const fault: ApiFault = localFault(code, "trouble");
    if (command.type === "List") return { type: "ListFailed", fault };
    if (this.#stream === undefined) return { type: "StreamFailed", fault };
    const kind = this.random();
    if (kind < 0.3) return { type: "StreamFailed", fault };
    if (kind < 0.6) return { type: "StreamLine", event: { type: "ERROR", fault } };
    if (kind < 0.8) return { type: "StreamEnded" };
    this.nowMs += 150_000;
    return { type: "StreamSilent" };
  }

  #open(position: number): ListWatchInput {
    const { compactedBelow, restores } = this.server;
    if (position < compactedBelow) return { type: "StreamFailed", fault: localFault("Gone", "too old") };
    this.#stream = { position, restores };
    return { type: "StreamOpened" };
  }

  #nextLine(stream: ModelStream): ListWatchInput | undefined {
    if (stream.restores !== this.server.restores) return { type: "StreamEnded" };
    const { server } = this;
    if (stream.position < server.compactedBelow) return { type: "StreamEnded" };
    const entry = server.history.find(({ version }) => version > stream.position);
    if (entry !== undefined) {
      stream.position = entry.version;
      return { type: "StreamLine", event: entry.event };
    }
    // A server that was restored has no changes after a position in its future: it is silent.
    if (stream.position > server.version) {
      this.nowMs += 150_000;
      return { type: "StreamSilent" };
    }
    this.nowMs += 60_000;
    stream.position = server.version;
    return { type: "StreamLine", event: bookmark(server.version) };
  }

  #apply(effect: ListWatchEffect): void {
    if (effect.type === "Report") return;
    for (const change of this.#changesOf(effect)) this.#hear(change);
    if (effect.type === "Replace") this.#expectComplete();
  }

  #changesOf(effect: Exclude<ListWatchEffect, { type: "Report" }>): readonly ObjectChange<TestObject>[] {
    if (effect.type === "Replace") return this.store.replaceAll(effect.objects as TestObject[], effect.announceAll);
    if (effect.type === "Put") return this.store.put(effect.object as TestObject);
    return this.store.remove(objectKey(effect.object.metadata));
  }

  /** No partial list may ever be visible: the contents of a list were complete at some time. */
  #expectComplete(): void {
    const contents = contentsOf(this.store.list()).join();
    if (!this.server.everHad.has(contents)) throw new Error(`The store is partial: ${contents}`);
  }

  #hear({ type, object }: ObjectChange<TestObject>): void {
    const { name, uid } = object.metadata;
    const known = this.heard.get(name);
    if (known?.metadata.uid !== (type === "Added" ? undefined : uid)) throw new Error(`${type} ${name} makes no sense`);
    if (type === "Deleted") this.heard.delete(name);
    else this.heard.set(name, object);
  }
}

const contentsOf = (objects: Iterable<TestObject>): string[] =>
  [...objects]
    .map(({ metadata, spec }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion} ${spec.color}`)
    .sort();

test("whatever happens, the store and its listeners finally agree with the server", () => {
  for (let seed = 1; seed <= caseCount(800); seed += 1) {
    const world = new World(seed);
    const { random, server } = world;
    for (let turn = 0; turn < 150; turn += 1) {
      const chance = random();
      if (chance < 0.3 && !world.isAhead) server.edit(random);
      else if (chance < 0.32) server.compact();
      else if (chance < 0.325) server.restore(random);
      world.turn();
    }
    world.troubled = false;
    for (let turn = 0; turn < 200 && !world.isQuiet; turn += 1) world.turn();
    const truth = contentsOf(server.objects.values());
    expect({ seed, store: contentsOf(world.store.list()) }).toStrictEqual({ seed, store: truth });
    expect({ seed, heard: contentsOf(world.heard.values()) }).toStrictEqual({ seed, heard: truth });
  }
});
