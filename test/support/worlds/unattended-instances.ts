// WafInstances on a real API server that no operator works on: for the records that are kept beside them.
import type { ObjectName } from "../../../src/model/resource.ts";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import { collectionOf, instance } from "../builders/manifests.ts";
import { createAll } from "../fakes/api-clients.ts";

export class UnattendedInstances {
  readonly #cluster: ClusterAccess;
  readonly #uids = new Map<string, string>();
  #serial = 0;

  constructor(cluster: ClusterAccess) {
    this.#cluster = cluster;
  }

  /** Creates another one, under a name that none had before. */
  async create(namespace: string): Promise<ObjectName> {
    this.#serial += 1;
    const name = `shop-${this.#serial}`;
    const { metadata, ...rest } = instance(namespace, "https://waf.example");
    const manifest = { ...rest, metadata: { ...metadata, name } };
    await createAll(this.#cluster, manifest);
    const answer = await this.#cluster.request({ path: `${collectionOf(manifest)}/${name}` });
    this.#uids.set(name, (answer.body as { metadata: { uid: string } }).metadata.uid);
    return { namespace, name };
  }

  uidOf(name: string): string | undefined {
    return this.#uids.get(name);
  }
}
