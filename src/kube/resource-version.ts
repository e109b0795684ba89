// The order of two resourceVersions of one resource, as Kubernetes defines it: decimal integers without leading zeros. Other
// resourceVersions are opaque and have no order.

const orderable = /^[1-9][0-9]*$/;

/** True only if both have an order and `left` comes before `right`. */
export function isOlderVersion(left: string, right: string): boolean {
  if (!orderable.test(left) || !orderable.test(right)) return false;
  if (left.length !== right.length) return left.length < right.length;
  return left < right;
}
