// The lines of an inventory that record managed origins: `standby.example.com Backup added=2026-05-01T12:00:00.000Z owner=…`.
import type { OriginType } from "../model/declared.ts";
import { decodeWord, encodeWord } from "../model/encoded-word.ts";
import { parseOwners, unknownOwners } from "../model/entry-owners.ts";
import type { OwnedOrigin } from "../model/inventory.ts";
import { decodeTime, encodeTime } from "./inventory-lines.ts";

export function originLine([host, origin]: readonly [string, OwnedOrigin]): string {
  const { type, addedAtMs, unconfirmed, retainedBy, owners, manner } = origin;
  const words = [encodeWord(host), type];
  if (addedAtMs !== undefined) words.push(`added=${encodeTime(addedAtMs)}`);
  if (unconfirmed !== undefined) words.push(`unconfirmed=${encodeWord(unconfirmed)}`);
  if (retainedBy !== undefined) words.push(`retained-by=${encodeWord(retainedBy)}`);
  if (owners !== unknownOwners) words.push(...owners.split(" ").map((owner) => `owner=${owner}`));
  if (manner === "Adopted") words.push("adopted");
  return words.join(" ");
}

/** Adds the origin of one line; false if the line is invalid. */
export function readOriginLine(line: string, origins: Map<string, OwnedOrigin>): boolean {
  const groups =
    /^(?<host>\S+) (?<type>Alternate|Backup)(?: added=(?<added>\S+))?(?: unconfirmed=(?<unconfirmed>\S*))?(?: retained-by=(?<retainedBy>\S+))?(?<owners>(?: owner=\S+)*)(?<adopted> adopted)?$/.exec(
      line,
    )?.groups;
  if (groups === undefined) return false;
  const host = decodeWord(groups["host"]);
  const retainedBy = decodeWord(groups["retainedBy"]);
  // The API's message may be empty.
  const unconfirmed = groups["unconfirmed"] === "" ? "" : decodeWord(groups["unconfirmed"]);
  const addedAtMs = groups["added"] === undefined ? undefined : decodeTime(groups["added"]);
  const owners = parseOwners((groups["owners"] ?? "").split(" owner=").slice(1));
  if (typeof host !== "string" || origins.has(host) || retainedBy === null || addedAtMs === null) return false;
  if (owners === undefined || unconfirmed === null) return false;
  const manner = groups["adopted"] === undefined ? "Added" : "Adopted";
  const type = groups["type"] as OriginType;
  origins.set(host, { type, addedAtMs, unconfirmed, retainedBy, owners, manner });
  return true;
}
