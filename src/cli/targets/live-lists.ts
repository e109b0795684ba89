// Reads both lists of a WAF for a command, which writes nothing.
import type { BaseUrlPolicy } from "../../app/base-url-policy.ts";
import { baseUrlObjection, connectionsOf } from "../../app/base-url-policy.ts";
import { WafClients } from "../../app/waf-clients.ts";
import { realClock } from "../../async/clock.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Redactor } from "../../model/redactor.ts";
import { readLastBlocked } from "../last-blocked.ts";
import { processLocks } from "../process-locks.ts";
import type { LiveLists } from "./target.ts";

interface LiveReading {
  readonly policy: BaseUrlPolicy;
  readonly redactor: Redactor;
  /** Whose last blocked request is wanted, too. */
  readonly blocked: Entry | undefined;
}

export async function readLiveLists(
  instance: DeclaredInstance,
  key: ApiKey,
  { policy, redactor, blocked }: LiveReading,
): Promise<LiveLists> {
  const objection = baseUrlObjection(policy, instance.baseUrl);
  if (objection !== undefined) return { state: "Unread", why: objection };
  const clients = new WafClients({
    clock: realClock,
    redactor,
    locks: processLocks("a read-only command"),
    ...connectionsOf(policy),
    hidesCause: false,
    permit: () => ({ permitted: false, reason: "This command only reads." }),
  });
  try {
    const client = clients.open(instance, key);
    const blocklist = await client.readList("blocklist");
    if (!blocklist.ok) return { state: "Unread", why: blocklist.fault.message };
    const allowlist = await client.readList("allowlist");
    if (!allowlist.ok) return { state: "Unread", why: allowlist.fault.message };
    const lists = { blocklist: blocklist.value, allowlist: allowlist.value };
    if (blocked === undefined || !instance.logs.enabled) return { state: "Read", lists };
    return { state: "Read", lists, lastBlocked: await readLastBlocked(client, blocked, realClock.nowMs()) };
  } finally {
    await clients.close();
  }
}
