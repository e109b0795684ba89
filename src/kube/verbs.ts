// The verbs of the Kubernetes API as small functions. Name, UID and resourceVersion of returned objects have been checked;
// the rest is as the server's schema guarantees.
import {
  type ApiFault,
  type ApiFaultCode,
  type ApiResult,
  localFault,
  type ApiRequest,
  type ApiServer,
} from "./api-server.ts";
import { isKubeObject, isRecord, type KubeObject, type KubeObjectMeta } from "./kube-object.ts";
import { collectionPath, objectPath, type ObjectAddress, type ResourceType } from "./resource-path.ts";

export const listPageSize = 500;
const listPagesMax = 10_000;
const listAttemptsMax = 3;
const listPageTimeoutMs = 60_000;
/** The maximum size of a page: several times that of an object, and parsed in well below 100 ms. */
const listPageBytesMax = 16 * 1024 * 1024;
/** Requests only the metadata of an object, or of the objects in a watch. */
export const metadataOfObject = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const metadataOfList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** The query is for example `{ dryRun: "All" }` or `{ fieldManager: "wafsync" }`. */
export interface VerbOptions extends Pick<ApiRequest, "timeoutMs" | "signal" | "query"> {
  /** For example `status`. */
  readonly subresource?: string;
}

/** Reads one object from etcd, not from a cache of the server. */
export async function getObject<T extends KubeObject>(
  api: ApiServer,
  type: ResourceType,
  address: ObjectAddress,
  options: VerbOptions = {},
): Promise<ApiResult<T>> {
  return await send<T>(api, { method: "GET" }, type, address, options);
}

/** POST of a new object; `AlreadyExists` if the name is taken. */
export async function createObject<T extends KubeObject>(
  api: ApiServer,
  type: ResourceType,
  namespace: string | undefined,
  body: unknown,
  options: Omit<VerbOptions, "subresource"> = {},
): Promise<ApiResult<T>> {
  return checked<T>(await api.request({ method: "POST", path: collectionPath(type, namespace), body, ...options }));
}

type ChangeVerb<Body> = <T extends KubeObject>(
  api: ApiServer,
  type: ResourceType,
  address: ObjectAddress,
  body: Body,
  options?: VerbOptions,
) => Promise<ApiResult<T>>;

function changeVerb<Body>(method: "PUT" | "PATCH", contentType: string): ChangeVerb<Body> {
  return async (api, type, address, body, options = {}) =>
    await send(api, { method, body, contentType }, type, address, options);
}

/** PUT of a whole object; `Conflict` if `metadata.resourceVersion` of the body is not the current one. */
export const replaceObject = changeVerb<unknown>("PUT", "application/json");
/** Merges the body into the object: lists are replaced whole, and null removes a field. */
export const mergePatchObject = changeVerb<unknown>("PATCH", "application/merge-patch+json");
/** Applies operations in order, all or none; a failing `test` gives `Invalid`. */
export const jsonPatchObject = changeVerb<JsonPatch>("PATCH", "application/json-patch+json");

export type JsonPatch = readonly {
  readonly op: "add" | "test";
  readonly path: string;
  readonly value?: unknown;
}[];

async function send<T extends KubeObject>(
  api: ApiServer,
  request: Pick<ApiRequest, "method" | "body" | "contentType">,
  type: ResourceType,
  address: ObjectAddress,
  { subresource, ...options }: VerbOptions,
): Promise<ApiResult<T>> {
  return checked<T>(await api.request({ ...request, path: objectPath(type, address, subresource), ...options }));
}

/** `Gone`: the object no longer exists, or another one has its name. */
export type ChangeResult<T> =
  | { readonly kind: "Done"; readonly object: T }
  | { readonly kind: "Gone" }
  | { readonly kind: "Failed"; readonly fault: ApiFault };

const changeAttemptsMax = 5;

export interface ObjectChanging<T, Ended> {
  readonly type: ResourceType;
  /** As cached. */
  readonly object: T;
  /** Returns the request to send, which must fail if the object has changed, or the result if there is nothing to change. */
  readonly change: (object: T) => (() => Promise<ApiResult<T>>) | Ended;
  /** The faults of a request for an object that has changed. */
  readonly conflicts: readonly ApiFaultCode[];
  /** Called with each newer version. */
  readonly onRead?: (object: T) => void;
}

/** Changes an object by requests that fail if it has changed meanwhile: then it is read, and `change` decides again. */
export async function changeObject<T extends KubeObject, Ended extends object>(
  api: ApiServer,
  { type, object: cached, change, conflicts, onRead }: ObjectChanging<T, Ended>,
  timeoutMs: number,
): Promise<ChangeResult<T> | Ended> {
  const failed = (fault: ApiFault): ChangeResult<T> =>
    fault.code === "NotFound" ? { kind: "Gone" } : { kind: "Failed", fault };
  const { uid } = cached.metadata;
  let object = cached;
  for (let attempt = 1; ; attempt += 1) {
    const request = change(object);
    if (typeof request !== "function") return request;
    const changed = await request();
    if (changed.ok) return { kind: "Done", object: changed.value };
    if (!conflicts.includes(changed.fault.code) || attempt >= changeAttemptsMax) return failed(changed.fault);
    const read = await getObject<T>(api, type, cached.metadata, { timeoutMs });
    if (!read.ok) return failed(read.fault);
    if (read.value.metadata.uid !== uid) return { kind: "Gone" };
    object = read.value;
    onRead?.(object);
  }
}

/** Deletes an object, or marks it for deletion if it has finalizers; `Conflict` if a precondition is not met. */
export function deleteObject(
  api: ApiServer,
  type: ResourceType,
  address: ObjectAddress,
  options: Omit<VerbOptions, "subresource"> & { readonly preconditions?: Partial<KubeObjectMeta> } = {},
): Promise<ApiResult<unknown>> {
  const { preconditions, ...rest } = options;
  const body = { kind: "DeleteOptions", apiVersion: "v1", ...(preconditions === undefined ? {} : { preconditions }) };
  return api.request({ method: "DELETE", path: objectPath(type, address), body, ...rest });
}

export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface ObjectPage<T> extends ObjectList<T> {
  /** Empty on the last page. */
  readonly continueToken: string;
}

export interface ListOptions extends Pick<ApiRequest, "timeoutMs" | "signal"> {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only the metadata of the objects. */
  readonly metadataOnly?: boolean;
}

/** One page of a list. The first page is a consistent read; the continue token ties later pages to it. */
export async function listPage<T extends KubeObject>(
  api: ApiServer,
  type: ResourceType,
  options: ListOptions & { readonly limit?: number; readonly continueToken?: string } = {},
): Promise<ApiResult<ObjectPage<T>>> {
  const { namespace, labelSelector, fieldSelector, metadataOnly, ...others } = options;
  const { limit = listPageSize, continueToken: token, ...rest } = others;
  const query = { labelSelector, fieldSelector, limit, continue: token === "" ? undefined : token };
  const accept = metadataOnly === true ? { accept: metadataOfList } : {};
  const limits = { timeoutMs: listPageTimeoutMs, bodyBytesMax: listPageBytesMax };
  const request = { method: "GET", path: collectionPath(type, namespace), query, ...accept } as const;
  const result = await api.request<unknown>({ ...limits, ...request, ...rest });
  if (!result.ok) return result;
  const page = pageOf<T>(result.value);
  return page === undefined ? notAsDocumented(result.status) : { ok: true, value: page, status: result.status };
}

export interface ReadListOptions<T> extends ListOptions {
  /** Reduces each object directly after it is read, so that large objects are not kept in memory. */
  readonly slim?: (object: T) => T;
}

/**
 * All objects as one consistent read, independent of any watch. Starts over if the list expires between pages. If a response is too large, it reads smaller pages.
 */
export async function listObjects<T extends KubeObject>(
  api: ApiServer,
  type: ResourceType,
  options: ReadListOptions<T> = {},
): Promise<ApiResult<ObjectList<T>>> {
  let result = await listOnce<T>(api, type, options);
  for (let attempt = 1; attempt < listAttemptsMax && !result.ok && result.fault.code === "Gone"; attempt += 1) {
    result = await listOnce<T>(api, type, options);
  }
  return result;
}

async function listOnce<T extends KubeObject>(
  api: ApiServer,
  type: ResourceType,
  { slim = (object) => object, ...options }: ReadListOptions<T>,
): Promise<ApiResult<ObjectList<T>>> {
  const items: T[] = [];
  let continueToken = "";
  let limit = listPageSize;
  for (let pages = 0; pages < listPagesMax; pages += 1) {
    const page = await listPage<T>(api, type, { ...options, limit, continueToken });
    if (page.ok) {
      for (const item of page.value.items) items.push(slim(item));
      const { resourceVersion } = page.value;
      ({ continueToken } = page.value);
      if (continueToken === "") return { ...page, value: { items, resourceVersion } };
    } else if (page.fault.code === "BodyTooLarge" && limit > 1) limit = Math.floor(limit / 2);
    else return page;
  }
  return { ok: false, fault: localFault("BodyTooLarge", `The list has more than ${listPagesMax} pages`) };
}

function checked<T extends KubeObject>(result: ApiResult<unknown>): ApiResult<T> {
  if (!result.ok) return result;
  if (!isKubeObject(result.value)) return notAsDocumented(result.status);
  return { ok: true, value: result.value as T, status: result.status };
}

function notAsDocumented(status: number): ApiResult<never> {
  return { ok: false, fault: { ...localFault("ContractBroken", "The response is not a Kubernetes object"), status } };
}

function pageOf<T extends KubeObject>(body: unknown): ObjectPage<T> | undefined {
  if (!isRecord(body) || !isRecord(body["metadata"])) return undefined;
  const { resourceVersion, continue: token = "" } = body["metadata"];
  // Some servers return null for an empty list.
  const items: unknown = body["items"] ?? [];
  if (!Array.isArray(items) || !items.every(isKubeObject)) return undefined;
  if (typeof resourceVersion !== "string" || resourceVersion === "" || typeof token !== "string") return undefined;
  return { items: items as unknown as T[], resourceVersion, continueToken: token };
}
