// A WAF in memory that implements the port of the use cases, and records overlapping calls. Tests configure faults in advance: the call,
// and whether the fault happens before or after its effect.
import type { Clock } from "../../../src/async/clock.ts";
import type { ListName, OriginType } from "../../../src/model/declared.ts";
import type { ApiKey } from "../../../src/model/api-key.ts";
import type { WafFault, WafResult, WriteAccepted, CallOptions, WafPort } from "../../../src/model/waf-result.ts";
import { testKey } from "../builders/gathered.ts";
import { crash } from "./crash.ts";
import { MemoryWaf } from "./memory-waf.ts";

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
}

export class FakeWaf extends MemoryWaf<OriginType> {
  readonly #options: FakeWafOptions;
  readonly #faults: ArmedFault[] = [];
  #running = 0;
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
    super("shop.example");
    this.#options = options;
  }

  /** The WAF from the view of one API key. */
  port(key: ApiKey): WafPort {
    const read = async <T>(
      name: WafCallName,
      list: ListName | undefined,
      options: CallOptions | undefined,
      value: () => T,
    ) => await this.#call({ name, list, text: "" }, key, options, (): WafResult<T> => ({ ok: true, value: value() }));
    const write = async (
      [name, list, text]: readonly [WafCallName, ListName | undefined, string],
      options: CallOptions | undefined,
      effect: () => string | undefined,
    ) =>
      await this.#call({ name, list, text }, key, options, (): WafResult<WriteAccepted> => {
        const refused = this.refusedTexts.has(text) ? `${text} is not accepted.` : effect();
        if (refused !== undefined) return failed("Rejected", refused, 400);
        return { ok: true, value: { domain: this.domain, message: "done" } };
      });
    return {
      readOrigins: async (options) =>
        await read("ReadOrigins", undefined, options, () => ({ domain: this.domain, primary: this.primary })),
      readList: async (list, options) => await read("ReadList", list, options, () => [...this.lists[list]]),
      addEntry: async (list, text, options) =>
        await write(["AddEntry", list, text], options, () => this.addEntry(list, text)),
      removeEntry: async (list, text, options) =>
        await write(["RemoveEntry", list, text], options, () => this.removeEntry(list, text)),
      addOrigin: async (host, type, options) =>
        await write(["AddOrigin", undefined, host], options, () => this.addOrigin(host, type)),
      removeOrigin: async (host, options) =>
        await write(["RemoveOrigin", undefined, host], options, () => this.removeOrigin(host)),
      clearCache: async (options) =>
        await write(["ClearCache", undefined, ""], options, () => {
          this.cacheClears += 1;
          return undefined;
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
    made: Pick<WafCall, "name" | "list" | "text">,
    key: ApiKey,
    { signal }: CallOptions = {},
    effect: () => WafResult<T>,
  ): Promise<WafResult<T>> {
    if (signal?.aborted === true) return failed("Aborted", "The caller stopped waiting.");
    const call: WafCall = { ...made, atMs: this.#options.clock.nowMs(), outcome: "Running" };
    this.calls.push(call);
    if (this.#running > 0) this.overlaps += 1;
    this.#running += 1;
    const result = await this.#serve(call, key, signal, effect).finally(() => (this.#running -= 1));
    call.outcome = result.ok ? "Ok" : result.fault.code;
    return result;
  }

  async #serve<T>(
    call: WafCall,
    key: ApiKey,
    signal: AbortSignal | undefined,
    effect: () => WafResult<T>,
  ): Promise<WafResult<T>> {
    await Promise.resolve();
    this.onCall?.(call);
    const { clock, latencyMs = 0 } = this.#options;
    if (latencyMs > 0) await clock.sleep(latencyMs, signal);
    if (!this.keys.has(key.reveal())) return failed("BadApiKey", "The API says that the key is wrong.", 403);
    const fault = this.#faultOf(call);
    if (fault?.effect === "Before") return answer(fault.fault, call);
    const result = effect();
    if (fault !== undefined) return answer(fault.fault, call);
    if (signal?.aborted === true && isWrite(call.name))
      return failed("OutcomeUnknown", "The call was given up while it ran.");
    return result;
  }

  #faultOf(call: WafCall): WafFaultRule | undefined {
    let hit: WafFaultRule | undefined;
    for (const armed of this.#faults) {
      const { on, nth = 1, times = 1 } = armed.rule;
      const matches = on === "Any" || on === call.name || (on === "Write" ? isWrite(call.name) : false);
      const reads = on === "Read" && !isWrite(call.name);
      if (!matches && !reads) continue;
      armed.seen += 1;
      if (armed.seen >= nth && armed.seen < nth + times) hit ??= armed.rule;
    }
    return hit;
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
