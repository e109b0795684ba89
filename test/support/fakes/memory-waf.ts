// A WAF in memory that follows the contract of the API strictly: it identifies entries only by their spelling on the list, and rejects duplicate
// additions and removals of missing entries. Each write returns the reason for a rejection, or undefined if it was done.
import { type Entry, isOpaque, readObservedEntry } from "../../../src/address/entry.ts";
import type { ListName } from "../../../src/model/declared.ts";

export class MemoryWaf<OriginType extends string> {
  readonly lists: Record<ListName, string[]> = { blocklist: [], allowlist: [] };
  readonly origins = new Map<string, OriginType>();
  primary = "origin.shop.example";
  domain: string;
  /** Maps an added entry to its spelling on the list. */
  spell = (text: string): string => text;

  constructor(domain: string) {
    this.domain = domain;
  }

  has(list: ListName, entry: Entry): boolean {
    return this.lists[list].some((text) => readObservedEntry(text) === entry);
  }

  entries(list: ListName): Set<Entry> {
    return new Set(this.lists[list].map(readObservedEntry));
  }

  /** Called before the list changes. */
  remember?(list: ListName): void;

  addEntry(list: ListName, text: string): string | undefined {
    const entry = readObservedEntry(text);
    if (isOpaque(entry)) return `${text} is no address.`;
    if (this.has(list, entry)) return `${text} is on the list already.`;
    this.remember?.(list);
    this.lists[list].push(this.spell(text));
    return undefined;
  }

  removeEntry(list: ListName, text: string): string | undefined {
    const place = this.lists[list].indexOf(text);
    if (place === -1) return `${text} is not on the list.`;
    this.remember?.(list);
    this.lists[list].splice(place, 1);
    return undefined;
  }

  addOrigin(host: string, type: OriginType): string | undefined {
    if (this.origins.has(host) || host === this.primary) return `${host}: the request was not accepted.`;
    this.origins.set(host, type);
    return undefined;
  }

  removeOrigin(host: string): string | undefined {
    return this.origins.delete(host) ? undefined : `${host} is no origin.`;
  }
}
