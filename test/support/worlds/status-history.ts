// Watches all objects of wafsync's kinds as an admin, and checks each changed status against the rules for statuses.
import { realClock } from "../../../src/async/clock.ts";
import { pluralOf } from "../../../src/kinds/kinds.ts";
import { type ResourceKind, resourceKinds, type ResourceMeta } from "../../../src/model/resource.ts";
import { statusFaults } from "./conformance.ts";
import type { KubeRequests } from "./kube-requests.ts";
import { apiVersion } from "../builders/manifests.ts";

export interface WafsyncObject {
  readonly kind: ResourceKind;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly managedFields: readonly {
      readonly manager: string;
      readonly subresource?: string;
      readonly fieldsV1: Readonly<Record<string, object>>;
    }[];
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

interface WatchLine {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: WafsyncObject;
}

const retryMs = 300;

export class StatusHistory {
  readonly #requests: KubeRequests;
  readonly #ending = new AbortController();
  readonly #last = new Map<string, WafsyncObject>();
  readonly #running: Promise<unknown>;
  #faults: string[] = [];
  /** How often the status of an object was written, by `Kind namespace/name`. */
  readonly writes = new Map<string, number>();

  constructor(requests: KubeRequests) {
    this.#requests = requests;
    this.#running = Promise.all(resourceKinds.map(async (kind) => await this.#follow(kind)));
  }

  /** The object and a description of each violation since the last call. */
  takeFaults(): string[] {
    const faults = this.#faults;
    this.#faults = [];
    return faults;
  }

  async end(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #follow(kind: ResourceKind): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.#followOnce(kind, signal).catch(() => undefined);
      await realClock.sleep(retryMs, signal);
    }
  }

  async #followOnce(kind: ResourceKind, signal: AbortSignal): Promise<void> {
    const path = `/apis/${apiVersion}/${pluralOf(kind)}`;
    const listed = (await this.#requests.expect({ path })) as {
      readonly metadata: { readonly resourceVersion: string };
      readonly items: readonly WafsyncObject[];
    };
    for (const object of listed.items) this.#see({ ...object, kind }, false);
    const query = `watch=1&resourceVersion=${listed.metadata.resourceVersion}&timeoutSeconds=600`;
    for await (const line of this.#requests.stream(`${path}?${query}`, signal)) {
      const { type, object } = line as WatchLine;
      if (type === "ERROR") return;
      if (type === "ADDED" || type === "MODIFIED") this.#see(object, true);
    }
  }

  /** @param isNext whether no version between the previous one and this one was missed */
  #see(object: WafsyncObject, isNext: boolean): void {
    const { metadata, status } = object;
    const before = this.#last.get(metadata.uid);
    this.#last.set(metadata.uid, object);
    // The defaults of the API server, before the operator has seen the object.
    if (status === undefined || status["observedGeneration"] === -1) return;
    if (JSON.stringify(before?.status) === JSON.stringify(status)) return;
    const name = nameOf(object);
    this.writes.set(name, (this.writes.get(name) ?? 0) + 1);
    const faults = statusFaults(metaOf(object), isNext ? before?.status : undefined, status);
    for (const fault of faults) this.#faults.push(`${name}: ${fault} in ${JSON.stringify(status)}`);
  }
}

/** `WafIpRule shop/office`. */
export function nameOf({ kind, metadata }: WafsyncObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

function metaOf({ kind, metadata }: WafsyncObject): ResourceMeta {
  const { namespace, name, uid, generation, creationTimestamp, deletionTimestamp } = metadata;
  const createdAtMs = Date.parse(creationTimestamp);
  const deleting = deletionTimestamp !== undefined;
  return { kind, namespace, name, uid, generation, createdAtMs, annotations: {}, deleting, location: "" };
}
