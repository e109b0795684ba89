// Records of the inventory for tests: fields that a test does not set have simple defaults.
import { unknownOwners } from "../../../src/model/entry-owners.ts";
import type { OwnedEntry, OwnedOrigin } from "../../../src/model/inventory.ts";

/** An entry that wafsync added, with nothing else recorded. */
export function anOwnedEntry(overrides: Partial<OwnedEntry> = {}): OwnedEntry {
  return { owners: unknownOwners, sinceMs: undefined, manner: "Added", retainedBy: undefined, ...overrides };
}

/** An alternate origin that the API accepted. */
export function anOwnedOrigin(overrides: Partial<OwnedOrigin> = {}): OwnedOrigin {
  const known = { owners: unknownOwners, manner: "Added", retainedBy: undefined } as const;
  return { type: "Alternate", addedAtMs: 1, unconfirmed: undefined, ...known, ...overrides };
}
