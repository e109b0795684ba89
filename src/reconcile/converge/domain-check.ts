// Lists do not identify their WAF. If the API key moved to another WAF after the domain was read, the lists must not cause any
// entry to be dropped from the inventory. The domain is therefore read again before the first record that is based on the lists.
import type { Observed } from "../../model/observed.ts";
import type { CallOptions, WafPort } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import { resultOfFault } from "../run-result.ts";

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
