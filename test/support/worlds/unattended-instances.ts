// WafInstances on a real API server without an operator, in a separate namespace, for tests of the records
// next to them.
import type { ApiServer } from "../../../src/kube/api-server.ts";
import type { ObjectName } from "../../../src/model/resource.ts";
import type { RecordOwner } from "../../../src/records/record-object.ts";
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

  /** @param prefix the prefix of the namespace's name */
  constructor(cluster: ClusterAccess, prefix: string) {
    this.api = apiClient(cluster);
    this.#cluster = cluster;
    this.#prefix = prefix;
  }

  /** Await it before calling any other method. */
  async start(): Promise<void> {
    await installDefinitions(this.#cluster);
    this.#namespace = await createNamespace(this.#cluster, this.#prefix);
  }

  close(): void {
    this.api.close();
  }

  get namespace(): string {
    return this.#namespace;
  }

  /** Creates an instance with a new name. */
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

  /** Like an instance with `deletionPolicy: Delete`. */
  readonly ownerOf = (name: ObjectName): RecordOwner | undefined => {
    const uid = this.uidOf(name);
    return uid === undefined ? undefined : { uid, retains: false };
  };
}
