// Stores events like the API server, and injects faults on request.
import { localFault } from "../../../src/kube/api-result.ts";
import type { ApiFaultCode, ApiResult } from "../../../src/kube/api-result.ts";
import type { EventApi } from "../../../src/kube/event-recorder.ts";

export interface StoredEvent {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly involvedObject: { readonly name: string; readonly namespace?: string };
  readonly reason: string;
  readonly action: string;
  readonly message: string;
  readonly count: number;
  readonly eventTime: string;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
}

export type Fault = {
  readonly code: ApiFaultCode;
  readonly causes?: readonly string[];
  readonly retryAfterMs?: number;
  readonly status?: number;
};

export class FakeEvents implements EventApi {
  readonly stored = new Map<string, StoredEvent>();
  readonly requests: string[] = [];
  /** Responds to the next requests with these responses. */
  readonly faults: Fault[] = [];
  /** Never responds, until the caller gives up. */
  silent = false;

  create(namespace: string, body: object, signal: AbortSignal): Promise<ApiResult<unknown>> {
    const event = body as StoredEvent;
    const key = `${namespace}/${event.metadata.name}`;
    return this.#answer(`create ${key}`, signal, () => {
      if (this.stored.has(key)) return failed({ code: "AlreadyExists" });
      this.stored.set(key, event);
      return { ok: true, status: 201, value: event };
    });
  }

  patch(namespace: string, name: string, body: object, signal: AbortSignal): Promise<ApiResult<unknown>> {
    const key = `${namespace}/${name}`;
    return this.#answer(`patch ${key}`, signal, () => {
      const event = this.stored.get(key);
      if (event === undefined) return failed({ code: "NotFound" });
      this.stored.set(key, { ...event, ...body });
      return { ok: true, status: 200, value: body };
    });
  }

  get events(): StoredEvent[] {
    return [...this.stored.values()];
  }

  async #answer(request: string, signal: AbortSignal, act: () => ApiResult<unknown>): Promise<ApiResult<unknown>> {
    this.requests.push(request);
    if (this.silent) {
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      return failed({ code: "Aborted" });
    }
    const fault = this.faults.shift();
    return fault === undefined ? act() : failed(fault);
  }
}

function failed({ code, ...rest }: Fault): ApiResult<never> {
  return { ok: false, fault: { ...localFault(code, code), ...rest } };
}
