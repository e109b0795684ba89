// Calls a WAF for a command that writes nothing, and reads both lists of the WAF.
import type { BaseUrlPolicy } from "../../app/base-url-policy.ts";
import { baseUrlObjection, connectionsOf } from "../../app/base-url-policy.ts";
import type { CallWaf, ReadingWaf } from "../../app/waf-clients.ts";
import { WafClients } from "../../app/waf-clients.ts";
import { realClock } from "../../async/clock.ts";
import type { Entry } from "../../model/entry.ts";
import type { Redactor } from "../../model/redactor.ts";
import type { WafFault } from "../../model/waf-result.ts";
import type { DeclaredKey } from "../key-hint.ts";
import { keyHint } from "../key-hint.ts";
import { readLastBlocked } from "../last-blocked.ts";
import { processLocks } from "../process-locks.ts";
import type { LiveLists } from "./target.ts";

/** Each call opens its own client, which takes turns with other processes on this machine. */
export function commandCalls({
  policy,
  redactor,
}: {
  readonly policy: BaseUrlPolicy;
  readonly redactor: Redactor;
}): CallWaf {
  return async (instance, key, work) => {
    const objection = baseUrlObjection(policy, instance.baseUrl);
    if (objection !== undefined) return { ok: false, problem: objection };
    const clients = new WafClients({
      clock: realClock,
      redactor,
      locks: processLocks("a read-only command"),
      ...connectionsOf(policy),
      hidesCause: false,
      permit: () => ({ permitted: false, reason: "This command only reads." }),
    });
    try {
      return { ok: true, value: await work(clients.open(instance, key)) };
    } finally {
      await clients.close();
    }
  };
}

/**
 * @param declared the instance whose WAF it is, for messages about its key
 * @param blocked the address or network whose last blocked request is read, too
 */
export async function readLists(
  waf: ReadingWaf,
  declared: DeclaredKey,
  blocked: Entry | undefined,
): Promise<LiveLists> {
  const blocklist = await waf.readList("blocklist");
  if (!blocklist.ok) return unread(blocklist.fault, declared);
  const allowlist = await waf.readList("allowlist");
  if (!allowlist.ok) return unread(allowlist.fault, declared);
  const lists = { blocklist: blocklist.value, allowlist: allowlist.value };
  if (blocked === undefined) return { state: "Read", lists };
  return { state: "Read", lists, lastBlocked: await readLastBlocked(waf, blocked, realClock.nowMs()) };
}

function unread(fault: WafFault, declared: DeclaredKey): LiveLists {
  const hint = keyHint(fault, declared);
  return { state: "Unread", why: hint === undefined ? fault.message : `${fault.message} ${hint}` };
}
