// WafInstances on a real API server that no operator works on, in a namespace of their own: for the records that are kept
// beside them.
import type { ApiServer } from "../../../src/kube/api-server.ts";
import type { ObjectName } from "../../../src/model/resource.ts";
import type { RecordHolder } from "../../../src/source/cluster/record-object.ts";
import { createNamespace, installDefinitions } from "../builders/cluster-objects.ts";
import { collectionOf, instance } from "../builders/manifests.ts";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import { apiClient, createAll } from "../fakes/api-clients.ts";

export class UnattendedInstances {
  readonly api: ApiServer;
  readonly #cluster: ClusterAccess;
  readonly #prefix: string;
  readonly #uids = new Map<string, string>();
  #namespace = "";
  #serial = 0;

  /** @param prefix what the name of the namespace begins with */
  constructor(cluster: ClusterAccess, prefix: string) {
    this.api = apiClient(cluster);
    this.#cluster = cluster;
    this.#prefix = prefix;
  }

  /** To be awaited before anything else. */
  async start(): Promise<void> {
    await installDefinitions(this.#cluster);
    this.#namespace = await createNamespace(this.#cluster, this.#prefix);
  }

  async close(): Promise<void> {
    await this.api.close();
  }

  get namespace(): string {
    return this.#namespace;
  }

  /** Creates another one, under a name that none had before. */
  async create(): Promise<ObjectName> {
    this.#serial += 1;
    const name = `shop-${this.#serial}`;
    const { metadata, ...rest } = instance(this.#namespace, "https://waf.example");
    const manifest = { ...rest, metadata: { ...metadata, name } };
    await createAll(this.#cluster, manifest);
    const answer = await this.#cluster.request({ path: `${collectionOf(manifest)}/${name}` });
    this.#uids.set(name, (answer.body as { metadata: { uid: string } }).metadata.uid);
    return { namespace: this.#namespace, name };
  }

  readonly uidOf = ({ name }: ObjectName): string | undefined => this.#uids.get(name);

  /** As with `deletionPolicy: Delete`. */
  readonly holderOf = (name: ObjectName): RecordHolder | undefined => {
    const uid = this.uidOf(name);
    return uid === undefined ? undefined : { uid, retains: false };
  };
}
