// One Lease with the API server's rules: creating an existing Lease or replacing an outdated version fails.
import { localFault } from "../../../src/kube/api-result.ts";
import type { ApiFaultCode, ApiResult } from "../../../src/kube/api-result.ts";
import type { LeaseApi } from "../../../src/kube/lease.ts";
import type { SkewedClock, VirtualTime } from "./virtual-time.ts";

interface StoredLease {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

export function failed(code: ApiFaultCode): ApiResult<never> {
  return { ok: false, fault: localFault(code, code) };
}

export class FakeLeaseServer {
  stored: StoredLease | undefined;
  writes = 0;
  #version = 100;

  get(): ApiResult<unknown> {
    return this.stored === undefined ? failed("NotFound") : { ok: true, status: 200, value: this.stored };
  }

  create(body: object): ApiResult<unknown> {
    return this.stored === undefined ? this.#store(body as StoredLease, 201) : failed("AlreadyExists");
  }

  replace(body: object): ApiResult<unknown> {
    const wanted = body as StoredLease;
    if (this.stored === undefined) return failed("NotFound");
    if (wanted.metadata["resourceVersion"] !== this.stored.metadata["resourceVersion"]) return failed("Conflict");
    return this.#store(wanted, 200);
  }

  #store(body: StoredLease, status: number): ApiResult<unknown> {
    this.#version += 1;
    this.writes += 1;
    this.stored = { ...body, metadata: { ...body.metadata, resourceVersion: String(this.#version) } };
    return { ok: true, status, value: this.stored };
  }
}

/** The possible faults between one process and the server. */
export interface Network {
  partitioned: boolean;
  /** Returns a random latency for one direction, in milliseconds. */
  delayMs: () => number;
  losesAnswer: () => boolean;
}

/** The server from the view of one process. Aborting a request does not undo it. */
export function leaseOver(
  server: FakeLeaseServer,
  { time, clock, network }: { readonly time: VirtualTime; readonly clock: SkewedClock; readonly network: Network },
): LeaseApi {
  const call = async (signal: AbortSignal, act: () => ApiResult<unknown>): Promise<ApiResult<unknown>> => {
    await time.sleep(network.delayMs());
    const result = network.partitioned ? undefined : act();
    if (result === undefined || network.partitioned || network.losesAnswer()) return silence(signal);
    await time.sleep(network.delayMs());
    await clock.whenRunning();
    return result;
  };
  return {
    get: (signal) => call(signal, () => server.get()),
    create: (body, signal) => call(signal, () => server.create(body)),
    replace: (body, signal) => call(signal, () => server.replace(body)),
  };
}

/** The server never responds; the caller gives up. */
function silence(signal: AbortSignal): Promise<ApiResult<unknown>> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(failed("Aborted"));
    signal.addEventListener("abort", () => resolve(failed("Aborted")), { once: true });
  });
}
