// Decides whether wafsync may call the WAF of an instance at all, for every kind of work, and identifies the inputs of an attempt:
// a failed attempt is repeated early if they change.
import type { ApiKey } from "../model/api-key.ts";
import type { Gathered } from "../model/gathered.ts";
import { continuedBy } from "../model/continues.ts";
import { byAge, nameKey } from "../model/resource.ts";

export type Admission =
  | { readonly kind: "Admitted"; readonly key: ApiKey }
  | {
      readonly kind: "Blocked";
      readonly blocker: "BaseUrlNotAllowed" | "MissingApiKey" | "DuplicateKey" | "Continued";
      readonly message: string;
    };

/** @param baseUrlObjection a sentence that says why the base URL must not be called; undefined if it may be called */
export function admitInstance(
  { instance, key, sameKey }: Gathered,
  baseUrlObjection: (baseUrl: string) => string | undefined,
): Admission {
  const objection = baseUrlObjection(instance.baseUrl);
  if (objection !== undefined) return { kind: "Blocked", blocker: "BaseUrlNotAllowed", message: objection };
  if (key.state === "Missing") return { kind: "Blocked", blocker: "MissingApiKey", message: key.problem };
  const successor = continuedBy(instance.meta, sameKey);
  if (successor !== undefined) {
    const message = `WafInstance ${nameKey(successor)} continues this one: change the rules and origins to refer to ${nameKey(successor)}, and delete this instance. This removes nothing from the WAF.`;
    return { kind: "Blocked", blocker: "Continued", message };
  }
  const others = sameKey.filter((peer) => continuedBy(peer, [instance.meta]) === undefined);
  const oldest = [instance.meta, ...others].toSorted(byAge)[0];
  if (oldest !== undefined && oldest !== instance.meta) {
    const message = `WafInstance ${nameKey(oldest)} is older and has the same API key: delete one of the two instances, or give this one the API key of a different WAF.`;
    return { kind: "Blocked", blocker: "DuplicateKey", message };
  }
  return { kind: "Admitted", key: key.key };
}

/**
 * Identifies everything that an attempt depends on besides the WAF itself: if it changes, a new attempt starts immediately.
 * @param requestedAt the value of the annotation that requests a reconcile
 * @param spec the other parts of the instance that count
 */
export function attemptOf({ instance, key, sameKey }: Gathered, requestedAt: string, spec: unknown): string {
  const { meta, baseUrl, expectedDomain = "" } = instance;
  const fingerprint = key.state === "Present" ? key.key.fingerprint() : "";
  return JSON.stringify([meta.uid, baseUrl, expectedDomain, requestedAt, fingerprint, sameKey.map(nameKey), spec]);
}
