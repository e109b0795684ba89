// Lists don't say which WAF they belong to. If the key was given to another WAF since the domain was read, what they show must
// not drop anything from the inventory: so the domain is read again before the first record that follows from them.
import type { Observed } from "../../model/observed.ts";
import type { CallOptions, WafPort } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import { resultOfFault } from "../run-result.ts";

export class DomainCheck {
  readonly #waf: WafPort;
  /** The lists that were verified to belong to the domain that was read. */
  #verified: Observed["lists"] | undefined;

  constructor(waf: WafPort) {
    this.#waf = waf;
  }

  /** Something was taken at the API's word: the domain is read again before the next record. */
  doubt(): void {
    this.#verified = undefined;
  }

  /** Reads the domain again, unless the lists were verified already. */
  async ensure(observed: Observed, options: CallOptions): Promise<RunResult | undefined> {
    if (this.#verified === observed.lists) return undefined;
    const read = await this.#waf.readOrigins(options);
    if (!read.ok) return resultOfFault(read.fault);
    const moved = this.movedFrom(observed, read.value.domain);
    if (moved === undefined) this.#verified = observed.lists;
    return moved;
  }

  /** Each accepted write names the domain that it was done for. Another one than was read ends the run. */
  movedFrom(observed: Observed, domain: string): RunResult | undefined {
    if (domain.toLowerCase() === observed.domain.toLowerCase()) return undefined;
    const message = `The API key belonged to ${observed.domain} when the lists were read, and to ${domain} at the last write: wafsync writes nothing more until it has identified the WAF.`;
    return { kind: "Blocked", blocker: "DomainChanged", message };
  }
}
