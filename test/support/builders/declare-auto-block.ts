// WafAutoBlocks for tests: fields that a test does not set have the defaults of the CRD.
import type { DeclaredAutoBlock, LogMatch } from "../../../src/model/declared.ts";
import { type LogEntry, logTimeMs } from "../../../src/model/log-entry.ts";
import type { JudgedRow } from "../../../src/blocks/judge.ts";
import { aMeta, instanceName, type MetaOverrides } from "./declare.ts";

export interface AutoBlockOverrides extends Partial<Omit<DeclaredAutoBlock, "meta" | "match">> {
  readonly name?: string;
  readonly meta?: MetaOverrides;
  readonly match?: Partial<LogMatch>;
}

export function anAutoBlock({ name = "scanners", meta, match, ...rest }: AutoBlockOverrides = {}): DeclaredAutoBlock {
  return {
    meta: aMeta("WafAutoBlock", name, meta),
    instance: instanceName,
    mode: "Enforce",
    suspend: false,
    match: { countries: [], reasons: [], statuses: [], paths: [], ...match },
    threshold: 100,
    windowMs: 600_000,
    groupBy: "Address",
    networkPrefixLength: { ipv4: 24, ipv6: 64 },
    ttlMs: 3_600_000,
    repeatFactor: 2,
    maxTtlMs: 7 * 86_400_000,
    maxEntries: 100,
    exempt: [],
    ...rest,
  };
}

let identity = 0;

/** A row of its own, which was not judged before. */
export function newRow(entry: LogEntry): JudgedRow {
  identity += 1;
  return { entry, atMs: logTimeMs(entry.timestamp), identity, known: 0 };
}
