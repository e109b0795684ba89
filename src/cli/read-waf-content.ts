// Reads all lists of a WAF twice: an import must not be based on a changing list or a truncated response. Errors are CommandErrors.
import { baseUrlObjection } from "../app/base-url-policy.ts";
import { realClock } from "../async/clock.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { WafResult } from "../model/waf-result.ts";
import type { WafClient } from "../waf/client.ts";
import { createWafClient } from "../waf/client.ts";
import { LaneRegistry } from "../waf/lane-registry.ts";
import { CommandError } from "./describe-error.ts";
import type { WafContent } from "./import-documents.ts";
import { processLocks } from "./process-locks.ts";

export interface WafAccess {
  readonly baseUrl: string;
  readonly key: ApiKey;
  readonly timeoutMs: number;
  readonly allowInsecureHttp: boolean;
  readonly stop: AbortSignal;
}

/** @throws CommandError if the WAF can't be read, or the second read differs */
export async function readWafContent(access: WafAccess): Promise<WafContent> {
  const { baseUrl, key, timeoutMs: requestTimeoutMs, allowInsecureHttp, stop } = access;
  const objection = baseUrlObjection(
    { allowInsecureHttp, allowedBaseUrls: undefined, allowPrivateNetworks: true },
    baseUrl,
  );
  if (objection !== undefined) throw new CommandError(objection.replace("spec.baseUrl", "--base-url"));
  const registry = new LaneRegistry({ clock: realClock, locks: processLocks("wafsync import") });
  const lane = registry.acquire({ baseUrl, key, minRequestIntervalMs: 0 });
  const permit = () => ({ permitted: false, reason: "An import writes nothing to the WAF." }) as const;
  const client = createWafClient({ baseUrl, key, requestTimeoutMs, lane, permit, clock: realClock });
  try {
    const first = await readAll(client, stop);
    const second = await readAll(client, stop);
    const change = changeBetween(first, second);
    if (change === undefined) return second;
    throw new CommandError(
      `the WAF changed during the import: ${change}`,
      "No file was written. Stop the other writer, and run the command again.",
    );
  } finally {
    await registry.close();
  }
}

async function readAll(client: WafClient, signal: AbortSignal): Promise<WafContent> {
  const { domain, primary: primaryOrigin } = valueOf(await client.readOrigins({ signal }));
  const blocklist = valueOf(await client.readList("blocklist", { signal }));
  const allowlist = valueOf(await client.readList("allowlist", { signal }));
  return { domain, primaryOrigin, lists: { blocklist, allowlist } };
}

function valueOf<T>(result: WafResult<T>): T {
  if (result.ok) return result.value;
  const { code, message } = result.fault;
  const isKey = code === "BadApiKey" || code === "MissingApiKey";
  const hint = isKey ? "Set WAFSYNC_API_KEY, or --key-file to the file with the key." : "No file was written.";
  throw new CommandError(`the WAF cannot be read: ${message}`, hint);
}

/** Independent of the order of the lists. */
function changeBetween(a: WafContent, b: WafContent): string | undefined {
  if (a.domain !== b.domain) return `its domain changed from ${a.domain} to ${b.domain}`;
  if (a.primaryOrigin !== b.primaryOrigin) return "the second read returned a different primary origin";
  for (const list of ["blocklist", "allowlist"] as const) {
    const [before, after] = [a.lists[list].toSorted(), b.lists[list].toSorted()];
    const isSame = before.length === after.length && before.every((text, index) => text === after[index]);
    if (!isSame)
      return `the second read of the ${list} returned different entries (${before.length} before, ${after.length} now)`;
  }
  return undefined;
}
