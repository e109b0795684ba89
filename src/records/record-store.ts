// One place for every record: inventories, feeds, positions in logs, histories. A record is a text, which its owner in this folder
// encodes; a store keeps it as a whole, with a revision as the precondition of the next save.
import type { WafRecordSpec } from "../kinds/waf-record.ts";
import type { ObjectName } from "../model/resource.ts";

/** What a record is about. The name of each type is part of the names of files and objects. */
export const recordNames = {
  Inventory: "inventory",
  LogForwarding: "logs",
  History: "history",
  Feed: "feed",
  /** All files of the state directory of a folder. Only in a cluster. */
  State: "state",
  /** Only in a folder. */
  Seen: "seen",
} as const satisfies Readonly<Record<WafRecordSpec["type"] | "Seen", string>>;
export type StoredType = keyof typeof recordNames;

/** The record of this type of one instance, of one feed, or of one folder. */
export interface RecordKey extends ObjectName {
  readonly type: StoredType;
}

/** `revision` is opaque; it is empty if nothing is stored. */
export type LoadedRecord =
  | { readonly state: "Loaded"; readonly text: string; readonly revision: string }
  | { readonly state: "Absent"; readonly revision: string }
  /** It exists, but not as it was saved, or in a format of a newer version. A save with `revision` replaces it. */
  | { readonly state: "Damaged"; readonly problem: string; readonly revision: string }
  /** A retry may succeed, unless this user lacks the permission. */
  | { readonly state: "Unreachable"; readonly problem: string; readonly isForbidden: boolean };

export type SavedRecord =
  | { readonly state: "Saved"; readonly revision: string }
  /** Another writer has saved or removed it since `revision`. */
  | { readonly state: "Conflict"; readonly problem: string }
  | { readonly state: "Failed"; readonly problem: string }
  /** This process must not write now, or the owner of the record no longer exists. */
  | { readonly state: "NotAllowed"; readonly problem: string };

/** No method rejects. */
export interface RecordStore {
  load(key: RecordKey): Promise<LoadedRecord>;
  /** Stores the text as a whole or not at all: a crash at any moment leaves the former text or this one. Durable with `Saved`. */
  save(key: RecordKey, text: string, revision: string): Promise<SavedRecord>;
  /** Undefined if nothing is stored any longer, otherwise the reason. */
  remove(key: RecordKey): Promise<string | undefined>;
  /** Whether another process has stored something since the last `load` or `save`. Absent if there is no other process. */
  hasChanged?(key: RecordKey): Promise<boolean>;
  /** Where it is stored, for messages. */
  placeOf(key: RecordKey): string;
}
