// The WafRecords of one namespace in memory, with the API server's rules for versions, finalizers and deletions, and with a garbage
// collector that runs when the test says so.
import type { ApiResult, ApiRequest, ApiServer } from "../../src/kube/api-server.ts";
import { done, failed } from "../kube/fake-api-server.ts";

export interface StoredObject {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    labels: Record<string, string>;
    ownerReferences: { uid: string }[];
    finalizers: string[];
    deletionTimestamp?: string;
  };
  spec: { text: string; parts?: { name: string; digest: string }[]; format: number };
}

export class MemoryRecords {
  readonly objects = new Map<string, StoredObject>();
  /** The bodies of all writes, as `METHOD name bytes`. */
  readonly writes: string[] = [];
  #serial = 0;

  /** @param writesLeft the number of writes that are sent before the process dies */
  open(writesLeft = Number.POSITIVE_INFINITY): ApiServer {
    let left = writesLeft;
    const request = async (sent: ApiRequest): Promise<ApiResult<unknown>> => {
      if (sent.method !== "GET" && (left -= 1) < 0) return failed("Unavailable");
      return structuredClone(this.#answer(sent));
    };
    return { request, openStream: request, close: async () => undefined } as unknown as ApiServer;
  }

  collectGarbage(living: string): void {
    for (const { metadata } of this.objects.values()) {
      if (metadata.ownerReferences.every(({ uid }) => uid !== living)) this.#end(metadata.name);
    }
  }

  #answer({ method, path, body, query }: ApiRequest): ApiResult<unknown> {
    const isCollection = path.endsWith("/wafrecords");
    const name = isCollection ? (body as StoredObject | undefined)?.metadata.name : path.split("/").at(-1);
    const known = this.objects.get(name ?? "");
    if (method !== "GET") this.writes.push(`${method} ${name} ${JSON.stringify(body).length}`);
    if (method === "GET" && isCollection) {
      const selected = String(query?.["labelSelector"] ?? "").split(",");
      const items = [...this.objects.values()].filter(({ metadata: { labels } }) =>
        selected.every(
          (term) => term.split("=")[1] === undefined || labels[term.split("=")[0]!] === term.split("=")[1],
        ),
      );
      return done({ metadata: { resourceVersion: "1" }, items });
    }
    if (method === "POST") return known === undefined ? this.#put(body as StoredObject) : failed("AlreadyExists");
    if (known === undefined) return failed("NotFound");
    if (method === "PATCH") {
      known.metadata.finalizers = [];
      if (known.metadata.deletionTimestamp !== undefined) this.objects.delete(known.metadata.name);
      return done(known);
    }
    if (method === "DELETE") return done(this.#end(known.metadata.name));
    if (method === "GET") return done(known);
    const isCurrent = (body as StoredObject).metadata.resourceVersion === known.metadata.resourceVersion;
    return isCurrent ? this.#put(body as StoredObject, known) : failed("Conflict");
  }

  #put(body: StoredObject, known?: StoredObject): ApiResult<unknown> {
    this.#serial += 1;
    const stored = structuredClone(body);
    const { uid = `uid-${this.#serial}`, deletionTimestamp } = known?.metadata ?? {};
    Object.assign(stored.metadata, { uid, resourceVersion: String(this.#serial) });
    if (deletionTimestamp !== undefined) stored.metadata.deletionTimestamp = deletionTimestamp;
    this.objects.set(stored.metadata.name, stored);
    return done(stored);
  }

  #end(name: string): StoredObject | undefined {
    const known = this.objects.get(name);
    if (known !== undefined && known.metadata.finalizers.length > 0) known.metadata.deletionTimestamp = "now";
    else this.objects.delete(name);
    return known;
  }
}
