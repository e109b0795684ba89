// Determines the widest networks that may result from merging the entries of a namespace: those that it could declare itself.
import { decideAttachment } from "../../model/attachment.ts";
import type { DeclaredInstance, ListName, PrefixLengths } from "../../model/declared.ts";

export function widestMerged(
  instance: DeclaredInstance,
  list: ListName,
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): PrefixLengths {
  const { minPrefixLength, allowMinPrefixLength } = instance.guards;
  const ofGuards = list === "blocklist" ? minPrefixLength : allowMinPrefixLength;
  const attachment = decideAttachment(instance, "WafIpRule", namespace, labels);
  const ofGrant = attachment.state === "Allowed" ? attachment.grant?.minPrefixLength : undefined;
  if (ofGrant === undefined) return ofGuards;
  return { ipv4: Math.max(ofGuards.ipv4, ofGrant.ipv4), ipv6: Math.max(ofGuards.ipv6, ofGrant.ipv6) };
}
