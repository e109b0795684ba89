// The files of a state directory in one record of a cluster. Its first line has the lease of the process that uses it. Then follow the
// files: each is a line with its path, and its own lines, indented by a space. So a save writes the first object and the parts with
// changed lines, and a stale writer gets a conflict.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { hexDigest } from "../../model/hex-digest.ts";
import { parseJson } from "../../model/record.ts";
import type { RecordKey, RecordStore } from "../../records/record-store.ts";
import type { Changes, RemoteFiles, Version } from "./remote-state.ts";
import { safeName } from "./state-directory.ts";

const wayOut =
  "Restore it from a backup, or run the version of wafsync that wrote it. If you delete it, all entries on the WAFs of the folder become unmanaged.";
const firstLine = z.object({ format: z.literal(1), lease: z.unknown().optional() });

type Files = ReadonlyMap<string, string>;

interface Stored {
  /** A hash of the whole text. A lease makes it unique. */
  readonly revision: string;
  readonly text: string;
  readonly files: Files;
}

export class FolderRecord implements RemoteFiles {
  readonly server = "API server";
  readonly writeHint: string;
  readonly #store: RecordStore;
  readonly #key: RecordKey;
  #current: Stored | undefined;
  /** The revision of the store. */
  #precondition = "";
  #prepared: Stored | undefined;

  constructor(store: RecordStore, key: RecordKey) {
    this.#store = store;
    this.#key = key;
    this.writeHint = `Check that namespace ${key.namespace} exists, and that this user may get, list, create, update and delete wafrecords in it.`;
  }

  async tip(): Promise<string | undefined> {
    return (await this.fetch())?.revision;
  }

  async fetch(): Promise<Version | undefined> {
    const loaded = await this.#store.load(this.#key);
    if (loaded.state === "Unreachable") {
      throw new Error(loaded.isForbidden ? `${loaded.problem} ${this.writeHint}` : loaded.problem);
    }
    if (loaded.state === "Damaged") throw new Error(`${loaded.problem} ${wayOut}`);
    this.#precondition = loaded.revision;
    this.#current = undefined;
    if (loaded.state === "Absent") return undefined;
    const { text } = loaded;
    const [first = "", ...blocks] = text.split(/\n(?! )/u);
    const parsed = firstLine.safeParse(parseJson(first));
    if (!parsed.success) {
      throw new Error(`${this.#store.placeOf(this.#key)} can't be used: its first line is not understood. ${wayOut}`);
    }
    const files = new Map(
      blocks.map((block) => {
        const [path = "", ...lines] = block.split("\n ");
        return [path, lines.join("\n")];
      }),
    );
    this.#current = { revision: hexDigest(text), text, files };
    return { revision: this.#current.revision, lease: parsed.data.lease };
  }

  async checkOut(folder: string): Promise<void> {
    for (const [path, content] of this.#current?.files ?? []) {
      const file = join(folder, ...path.split("/").map(safeName));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
  }

  /** Changes the current version, which is always the one that a holder knows. */
  async commit(_before: string | undefined, changes: Changes, lease: object | undefined): Promise<string> {
    const files = new Map(this.#current?.files);
    for (const [path, content] of changes) {
      if (content === undefined) files.delete(path);
      else files.set(path, content);
    }
    const blocks = [...files]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map((file) => file.join("\n").replaceAll("\n", "\n "));
    const text = [JSON.stringify({ format: 1, lease }), ...blocks].join("\n");
    this.#prepared = { revision: hexDigest(text), text, files };
    return this.#prepared.revision;
  }

  async push(): Promise<void> {
    const saved = await this.#store.save(this.#key, this.#prepared?.text ?? "", this.#precondition);
    if (saved.state !== "Saved") throw new Error(saved.problem);
    this.#precondition = saved.revision;
    this.#current = this.#prepared;
  }
}
