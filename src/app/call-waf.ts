// How commands and pages call a WAF. They only read from it.
import type { ApiKey } from "../model/api-key.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import type { WafClient } from "../waf/client.ts";

export type ReadingWaf = Pick<WafClient, "readList" | "queryLogs" | "scrollLogs">;

/** `problem` says why the WAF may not be called now. */
export type CalledWaf<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** Calls `work` with a client of the WAF, unless the WAF may not be called now. */
export type CallWaf = <T>(
  instance: DeclaredInstance,
  key: ApiKey,
  work: (waf: ReadingWaf) => Promise<T>,
) => Promise<CalledWaf<T>>;
