// A WAF in memory that implements the port of the use cases. It is strict: it records overlapping calls,
// identifies entries only by the spelling on its list, and rejects duplicate additions and removals of missing entries.
// Tests configure faults in advance: the call, and whether the fault happens before or after its effect.
import type { Clock } from "../../../src/async/clock.ts";
import type { ListName, OriginType } from "../../../src/model/declared.ts";
import { isOpaque, readObservedEntry } from "../../../src/address/entry.ts";
import type { ApiKey } from "../../../src/model/api-key.ts";
import type { OriginsRead, WafFault, WafResult, WriteAccepted } from "../../../src/model/waf-result.ts";
import type { CallOptions, WafPort } from "../../../src/run/ports.ts";
import { testKey } from "../builders/gathered.ts";
import { crash } from "./crash.ts";

export const wafCallNames = [
  "ReadOrigins",
  "ReadList",
  "AddEntry",
  "RemoveEntry",
  "AddOrigin",
  "RemoveOrigin",
  "ClearCache",
] as const;
export type WafCallName = (typeof wafCallNames)[number];

export interface WafCall {
  readonly name: WafCallName;
  readonly list: ListName | undefined;
  /** The entry or host, as it was sent. */
  readonly text: string;
  readonly atMs: number;
  /** `Ok` or the code of the returned fault; `Running` until the call ends. */
  outcome: string;
}

export interface WafFaultRule {
  readonly on: WafCallName | "Write" | "Read" | "Any";
  readonly list?: ListName;
  /** The first call that it affects, counted from 1 among the matching calls from now on. */
  readonly nth?: number;
  /** The number of consecutive calls that it affects. */
  readonly times?: number;
  readonly effect: "Before" | "After";
  /** `Crash` ends the process instead of responding. */
  readonly fault: WafFault | "Crash";
}

interface ArmedFault {
  readonly rule: WafFaultRule;
  seen: number;
}

export interface FakeWafOptions {
  readonly clock: Clock;
  readonly latencyMs?: number;
  readonly domain?: string;
  /** Maps an added entry to its spelling on the list. */
  readonly spell?: (text: string) => string;
}

export class FakeWaf {
  readonly #options: FakeWafOptions;
  readonly #faults: ArmedFault[] = [];
  #running = 0;
  readonly lists: Record<ListName, string[]> = { blocklist: [], allowlist: [] };
  readonly origins = new Map<string, OriginType>();
  primary = "origin.shop.example";
  domain: string;
  /** The API keys that this WAF accepts. */
  readonly keys = new Set([testKey]);
  readonly calls: WafCall[] = [];
  cacheClears = 0;
  /** Calls that started while another call was running. */
  overlaps = 0;
  /** Strings that the API always rejects. */
  readonly refusedTexts = new Set<string>();
  /** Called before each call takes effect, so that a test can change the world at an exact point. */
  onCall: ((call: WafCall) => void) | undefined;

  constructor(options: FakeWafOptions) {
    this.#options = options;
    this.domain = options.domain ?? "shop.example";
  }

  /** The WAF from the view of one API key. */
  port(key: ApiKey): WafPort {
    return {
      readOrigins: async (options) =>
        await this.#call("ReadOrigins", undefined, "", key, options, () => this.#originsRead()),
      readList: async (list, options) =>
        await this.#call("ReadList", list, "", key, options, () => ({ ok: true, value: [...this.lists[list]] })),
      addEntry: async (list, text, options) =>
        await this.#call("AddEntry", list, text, key, options, () => this.#add(list, text)),
      removeEntry: async (list, text, options) =>
        await this.#call("RemoveEntry", list, text, key, options, () => this.#remove(list, text)),
      addOrigin: async (host, type, options) =>
        await this.#call("AddOrigin", undefined, host, key, options, () => this.#addOrigin(host, type)),
      removeOrigin: async (host, options) =>
        await this.#call("RemoveOrigin", undefined, host, key, options, () => this.#removeOrigin(host)),
      clearCache: async (options) =>
        await this.#call("ClearCache", undefined, "", key, options, () => {
          this.cacheClears += 1;
          return this.#accepted();
        }),
    };
  }

  failOn(rule: WafFaultRule): void {
    this.#faults.push({ rule, seen: 0 });
  }

  /** The number of calls of this kind, whatever their result. */
  count(name: WafCallName, list?: ListName): number {
    return this.calls.filter((call) => call.name === name && (list === undefined || call.list === list)).length;
  }

  /** `AddEntry blocklist 192.0.2.1` of every write, in order. */
  writes(): string[] {
    return this.calls.flatMap(({ name, list, text }) =>
      isWrite(name) ? [[name, list, text].filter((part) => part !== undefined && part !== "").join(" ")] : [],
    );
  }

  async #call<T>(
    name: WafCallName,
    list: ListName | undefined,
    text: string,
    key: ApiKey,
    options: CallOptions | undefined,
    effect: () => WafResult<T>,
  ): Promise<WafResult<T>> {
    if (options?.signal?.aborted === true) return failed("Aborted", "The caller stopped waiting.");
    const call: WafCall = { name, list, text, atMs: this.#options.clock.nowMs(), outcome: "Running" };
    this.calls.push(call);
    if (this.#running > 0) this.overlaps += 1;
    this.#running += 1;
    try {
      const result = await this.#serve(call, key, options, effect);
      call.outcome = result.ok ? "Ok" : result.fault.code;
      return result;
    } finally {
      this.#running -= 1;
    }
  }

  async #serve<T>(
    call: WafCall,
    key: ApiKey,
    options: CallOptions | undefined,
    effect: () => WafResult<T>,
  ): Promise<WafResult<T>> {
    await Promise.resolve();
    this.onCall?.(call);
    const { clock, latencyMs = 0 } = this.#options;
    if (latencyMs > 0) await clock.sleep(latencyMs, options?.signal);
    if (!this.keys.has(key.reveal())) return failed("BadApiKey", "The API says that the key is wrong.", 403);
    const fault = this.#faultOf(call);
    if (fault?.effect === "Before") return answer(fault.fault, call);
    const result = effect();
    if (fault !== undefined) return answer(fault.fault, call);
    if (options?.signal?.aborted === true && isWrite(call.name)) {
      return failed("OutcomeUnknown", "The call was given up while it ran.");
    }
    return result;
  }

  #faultOf(call: WafCall): WafFaultRule | undefined {
    let hit: WafFaultRule | undefined;
    for (const armed of this.#faults) {
      const { on, list, nth = 1, times = 1 } = armed.rule;
      const matches = on === "Any" || on === call.name || (on === "Write" ? isWrite(call.name) : false);
      const reads = on === "Read" && !isWrite(call.name);
      if ((!matches && !reads) || (list !== undefined && list !== call.list)) continue;
      armed.seen += 1;
      if (armed.seen >= nth && armed.seen < nth + times) hit ??= armed.rule;
    }
    return hit;
  }

  #accepted(): WafResult<WriteAccepted> {
    return { ok: true, value: { domain: this.domain, message: "done" } };
  }

  #originsRead(): WafResult<OriginsRead> {
    return { ok: true, value: { domain: this.domain, primary: this.primary } };
  }

  #add(list: ListName, text: string): WafResult<WriteAccepted> {
    const entry = readObservedEntry(text);
    if (isOpaque(entry) || this.refusedTexts.has(text)) return failed("Rejected", `${text} is not accepted.`, 400);
    if (this.lists[list].some((shown) => readObservedEntry(shown) === entry)) {
      return failed("Rejected", `${text} is on the list already.`, 400);
    }
    this.lists[list].push((this.#options.spell ?? ((same) => same))(text));
    return this.#accepted();
  }

  #remove(list: ListName, text: string): WafResult<WriteAccepted> {
    const place = this.lists[list].indexOf(text);
    if (place === -1 || this.refusedTexts.has(text)) return failed("Rejected", `${text} is not on the list.`, 400);
    this.lists[list].splice(place, 1);
    return this.#accepted();
  }

  #addOrigin(host: string, type: OriginType): WafResult<WriteAccepted> {
    if (this.refusedTexts.has(host)) return failed("Rejected", `No DNS record exists for ${host}.`, 400);
    if (this.origins.has(host) || host === this.primary)
      return failed("Rejected", `${host}: the request was not accepted.`, 400);
    this.origins.set(host, type);
    return this.#accepted();
  }

  #removeOrigin(host: string): WafResult<WriteAccepted> {
    if (!this.origins.delete(host)) return failed("Rejected", `${host} is no origin.`, 400);
    return this.#accepted();
  }
}

export function isWrite(name: WafCallName): boolean {
  return name !== "ReadOrigins" && name !== "ReadList";
}

function answer<T>(fault: WafFault | "Crash", { name, text }: WafCall): WafResult<T> {
  if (fault === "Crash") throw crash(`during ${name} ${text}`);
  return { ok: false, fault };
}

function failed<T>(code: WafFault["code"], message: string, status?: number): WafResult<T> {
  return { ok: false, fault: { code, message, ...(status === undefined ? {} : { status }) } };
}
