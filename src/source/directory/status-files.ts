// Status and events without an API server: `status/<kind>/<namespace>/<name>.yaml`, written only when it has changed, and
// `events.ndjson` with one line per event. Both are for users and scripts; a failed write never fails a reconcile run.
import { stringify } from "yaml";
import type { Clock } from "../../async/clock.ts";
import { Turns } from "../../async/turns.ts";
import { hexDigest } from "../../model/hex-digest.ts";
import { kindDefinitions } from "../../kinds/custom-resource.ts";
import { isRecord } from "../../model/record.ts";
import { resourceKey, type ResourceRef } from "../../model/resource.ts";
import { visibleTexts } from "../../model/texts.ts";
import type { FilePath, FileResult } from "../../records/file-record-store.ts";
import type { StateDirectory } from "./state-directory.ts";
import { readYamlDocuments } from "./yaml-documents.ts";

const folder = "status";
const eventsFile: FilePath = ["events.ndjson"];
const olderEventsFile: FilePath = ["events.1.ndjson"];
export const eventsBytesMax = 1024 * 1024;
/** Kubernetes accepts no larger objects by default. */
export const statusBytesMax = 1.5 * 1024 * 1024;

type Status = Readonly<Record<string, unknown>>;

interface StoredStatus {
  readonly status: Status;
  readonly text: string;
}

export interface FiledEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** Further fields of the event's line. */
  readonly details?: object;
}

export interface StatusFilesOptions {
  readonly state: StateDirectory;
  readonly clock: Clock;
  /** Called with the reason, in one sentence, when something could not be written. */
  readonly onProblem: (problem: string) => void;
}

export class StatusFiles {
  readonly #options: StatusFilesOptions;
  readonly #known = new Map<string, StoredStatus | undefined>();
  readonly #turns = new Turns();

  constructor(options: StatusFilesOptions) {
    this.#options = options;
  }

  /** The status as last written, by this process or an earlier one. */
  read(object: ResourceRef): Status | undefined {
    const key = resourceKey(object);
    if (!this.#known.has(key)) this.#known.set(key, readFileOf(this.#options.state, object));
    return this.#known.get(key)?.status;
  }

  /** Writes the status if it differs from the stored one. Never rejects. */
  async write(object: ResourceRef, status: Status): Promise<void> {
    this.read(object);
    const key = resourceKey(object);
    const { kind, namespace, name } = object;
    // Converted through JSON, so that the cached status equals what a reader of the file gets.
    const plain = JSON.parse(JSON.stringify(status)) as Status;
    const text = stringify({ kind, metadata: { namespace, name }, status: plain }, { aliasDuplicateObjects: false });
    if (this.#known.get(key)?.text === text) return;
    this.#known.set(key, { status: plain, text });
    await this.#inTurn(async () => {
      const written = await this.#options.state.write(statusFile(object), text);
      // Forget it, so that the next write of the same status is not skipped.
      if (!written.ok && this.#known.get(key)?.text === text) this.#known.delete(key);
      return written;
    });
  }

  /** Appends a line to the events soon. */
  event(object: ResourceRef, { type, reason, message, details }: FiledEvent): void {
    const { kind, namespace, name } = object;
    const time = new Date(this.#options.clock.nowMs()).toISOString();
    const line = `${JSON.stringify({ time, type, kind, namespace, name, reason, message, ...details })}\n`;
    // A run waits for its statuses, which are written in turn with its events: so few events wait for a slow disk.
    void this.#inTurn(async () => await this.#options.state.append(eventsFile, line, eventsBytesMax, olderEventsFile));
  }

  /** The files of all other objects. */
  async others(objects: readonly ResourceRef[]): Promise<readonly FilePath[]> {
    const listed = await this.#options.state.list([folder]);
    if (!listed.ok) this.#options.onProblem(listed.problem);
    const kept = new Set(objects.map((object) => statusFile(object).join("/")));
    return listed.ok ? listed.value.filter((path) => !kept.has(path.join("/"))) : [];
  }

  /** Removes the status of all other objects, which are no longer declared. */
  async keepOnly(objects: readonly ResourceRef[]): Promise<void> {
    const { state } = this.#options;
    for (const path of await this.others(objects)) await this.#inTurn(async () => await state.remove(path));
    const keptKeys = new Set(objects.map(resourceKey));
    for (const key of this.#known.keys()) if (!keptKeys.has(key)) this.#known.delete(key);
  }

  /** Resolves when everything is written. */
  async flush(): Promise<void> {
    await this.#turns.ended();
  }

  async #inTurn(act: () => Promise<FileResult<void>>): Promise<void> {
    const result = await this.#turns.run(act);
    if (!result.ok) this.#options.onProblem(result.problem);
  }
}

/**
 * The stored status, for display; undefined if there is none. It may come from another writer, because a repository can
 * contain a state directory.
 */
export function readStatusFile(state: StateDirectory, object: ResourceRef): Status | undefined {
  const status = readFileOf(state, object)?.status;
  return status === undefined ? undefined : visibleTexts(status);
}

function readFileOf(state: StateDirectory, object: ResourceRef): StoredStatus | undefined {
  const text = state.readNow(statusFile(object), statusBytesMax);
  if (text === undefined) return undefined;
  const [document] = readYamlDocuments(text).documents;
  const value = document?.value;
  const status = isRecord(value) ? value["status"] : undefined;
  // A missing or damaged status does no harm: it is only a report, and will be written again.
  const isWhole = isRecord(status) && kindDefinitions[object.kind].status.safeParse(status).success;
  return isWhole ? { status, text } : undefined;
}

const fileNameLengthMax = 200;
const keptLength = 180;

/**
 * `office` gives `office.yaml`. Different names give different file names: names in Kubernetes can be as long as file names, so long
 * ones are truncated and distinguished by a hash.
 */
export function objectFileName(name: string): string {
  if (name.length <= fileNameLengthMax) return `${name}.yaml`;
  return `${name.slice(0, keptLength)}~${hexDigest(name, 16)}.yaml`;
}

/** Where the status of an object is stored. */
export function statusFile({ kind, namespace, name }: ResourceRef): FilePath {
  return [folder, kind, namespace, objectFileName(name)];
}
