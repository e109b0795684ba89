// Reads the state of the WAF, one call after another. Anything but the documented shape is a fault, never an empty list.
import type { Clock } from "../../async/clock.ts";
import type { ListName } from "../../model/declared.ts";
import { observeSpellings } from "../../model/observe-spellings.ts";
import type { Observed, ObservedEntries } from "../../model/observed.ts";
import type { WafResult } from "../../model/waf-result.ts";
import type { DesiredState } from "../../plan/instance/desired.ts";
import type { CallOptions, WafPort } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import { resultOfFault } from "../run-result.ts";

/** Entries that need not be parsed again: the declared entries, and those of the previous read. */
export interface KnownEntries {
  readonly desired: DesiredState;
  readonly last: Observed | undefined;
}

export async function observeWaf(
  waf: WafPort,
  known: KnownEntries,
  clock: Pick<Clock, "nowMs">,
  options: CallOptions,
): Promise<WafResult<Observed>> {
  const origins = await waf.readOrigins(options);
  if (!origins.ok) return origins;
  const blocklistAtMs = clock.nowMs();
  const blocklist = await observeList(waf, "blocklist", known, options);
  if (!blocklist.ok) return blocklist;
  const allowlistAtMs = clock.nowMs();
  const allowlist = await observeList(waf, "allowlist", known, options);
  if (!allowlist.ok) return allowlist;
  return {
    ok: true,
    value: {
      domain: origins.value.domain,
      primaryOrigin: origins.value.primary,
      lists: { blocklist: blocklist.value, allowlist: allowlist.value },
      readAtMs: { blocklist: blocklistAtMs, allowlist: allowlistAtMs },
    },
  };
}

export async function observeList(
  waf: WafPort,
  list: ListName,
  { desired, last }: KnownEntries,
  options: CallOptions,
): Promise<WafResult<ObservedEntries>> {
  const read = await waf.readList(list, options);
  if (!read.ok) return read;
  return { ok: true, value: observeSpellings(read.value, desired.lists[list], last?.lists[list]) };
}

/** Returns the observed state with one list replaced by a newer read. */
export function withListRead(observed: Observed, list: ListName, entries: ObservedEntries, atMs: number): Observed {
  const { lists, readAtMs } = observed;
  return { ...observed, lists: { ...lists, [list]: entries }, readAtMs: { ...readAtMs, [list]: atMs } };
}

/**
 * Lists do not identify their WAF. If the API key moved to another WAF after the domain was read, the lists must not cause any
 * entry to be dropped from the inventory. The domain is therefore read again before the first record that is based on the lists.
 */
export class DomainCheck {
  readonly #waf: WafPort;
  /** The lists that were verified to belong to the domain. */
  #verified: Observed["lists"] | undefined;

  constructor(waf: WafPort) {
    this.#waf = waf;
  }

  /** A result depends on a response of the API, so the domain is read again before the next record. */
  doubt(): void {
    this.#verified = undefined;
  }

  /** Reads the domain again, unless the lists are already verified. */
  async ensure(observed: Observed, options: CallOptions): Promise<RunResult | undefined> {
    if (this.#verified === observed.lists) return undefined;
    const read = await this.#waf.readOrigins(options);
    if (!read.ok) return resultOfFault(read.fault);
    const moved = this.movedFrom(observed, read.value.domain);
    if (moved === undefined) this.#verified = observed.lists;
    return moved;
  }

  /** Each accepted write returns its domain. A different domain than the one that was read ends the run. */
  movedFrom(observed: Observed, domain: string): RunResult | undefined {
    if (domain.toLowerCase() === observed.domain.toLowerCase()) return undefined;
    const message = `The API key belonged to ${observed.domain} when the lists were read, and to ${domain} at the last write: wafsync writes nothing more until it has identified the WAF.`;
    return { kind: "Blocked", blocker: "DomainChanged", message };
  }
}
