// One value of a Secret, read on demand and not cached.
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { getObject } from "../../kube/verbs.ts";
import { ApiKey } from "../../model/api-key.ts";
import { nameKey } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import { secretType } from "./cluster-object.ts";

const requestTimeoutMs = 10_000;

export type SecretValue =
  | { readonly ok: true; readonly value: ApiKey }
  /** A sentence that names the Secret but contains none of its values. */
  | { readonly ok: false; readonly problem: string };

interface SecretObject extends KubeObject {
  readonly data?: unknown;
}

export async function readSecretValue(
  api: ApiServer,
  namespace: string,
  { name, key }: { readonly name: string; readonly key: string },
): Promise<SecretValue> {
  const secret = `Secret ${nameKey({ namespace, name })}`;
  const read = await getObject<SecretObject>(api, secretType, { namespace, name }, { timeoutMs: requestTimeoutMs });
  if (!read.ok) {
    const why = read.fault.code === "NotFound" ? "does not exist" : `cannot be read: ${read.fault.message}`;
    return { ok: false, problem: asSentence(`${secret} ${why}`) };
  }
  const { data } = read.value;
  const encoded = isRecord(data) && Object.hasOwn(data, key) ? data[key] : undefined;
  if (typeof encoded !== "string") return { ok: false, problem: `${secret} has no key ${key}.` };
  return { ok: true, value: new ApiKey(Buffer.from(encoded, "base64").toString("utf8")) };
}
