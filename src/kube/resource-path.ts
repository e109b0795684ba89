// The URL paths of the Kubernetes API. Every name becomes a single path segment, whatever characters it contains.

/** A resource type. The core group is the empty string. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  /** Lowercase plural as in the URL, for example `configmaps`. */
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The address of an object. Only namespaced resources have a `namespace`. */
export interface ObjectAddress {
  readonly namespace?: string;
  readonly name: string;
}

/** The path of all objects of a resource, in one namespace or, without a namespace, in the whole cluster. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root =
    type.group === "" ? `/api/${segment(type.version)}` : `/apis/${segment(type.group)}/${segment(type.version)}`;
  if (namespace === undefined) return `${root}/${segment(type.plural)}`;
  if (!type.namespaced) throw new RangeError(`${type.plural} are not namespaced`);
  return `${root}/namespaces/${segment(namespace)}/${segment(type.plural)}`;
}

/** The path of one object, or of its subresource such as `status`. */
export function objectPath(type: ResourceType, address: ObjectAddress, subresource?: string): string {
  if (type.namespaced && address.namespace === undefined) throw new RangeError(`${type.plural} need a namespace`);
  const path = `${collectionPath(type, address.namespace)}/${segment(address.name)}`;
  return subresource === undefined ? path : `${path}/${segment(subresource)}`;
}

/** One segment. Empty ones and dots are refused, because they would change the resource that the path refers to. */
function segment(text: string): string {
  if (text === "" || text === "." || text === "..") throw new RangeError(`"${text}" can't be part of a path`);
  return encodeURIComponent(text);
}
