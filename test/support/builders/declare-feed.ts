// Declared feeds and their content, with defaults for all fields that a test does not set.
import type { FeedContent, FeedReading, TextFacts } from "../../../src/feeds/feed-state.ts";
import type { DeclaredFeed } from "../../../src/model/declared.ts";
import { aMeta } from "./declare.ts";
import { entry } from "./gathered.ts";

export function aFeed({
  annotations = {},
  ...change
}: Partial<DeclaredFeed> & { readonly annotations?: Readonly<Record<string, string>> } = {}): DeclaredFeed {
  return {
    meta: aMeta("WafFeed", "shop/threats", { uid: "", createdAtMs: undefined, annotations }),
    source: { type: "Http", url: "https://lists.example/threats.txt", headersFrom: [], format: { type: "Plain" } },
    intervalMs: 3_600_000,
    guards: { minEntries: 1, maxShrinkPercent: 30, maxInvalidPercent: 5, maxEntries: 1000, maxAddresses: 2 ** 24 },
    staleAfterMs: 86_400_000,
    suspend: false,
    allowedNamespaces: { from: "Same", selector: undefined },
    ...change,
  };
}

/** The decisions of a local API at `url`. */
export function crowdsecFeed(change: Partial<DeclaredFeed> = {}, url = "https://crowdsec.example"): DeclaredFeed {
  return aFeed({
    source: {
      type: "Crowdsec",
      url,
      apiKeySecretRef: { name: "crowdsec", key: "apiKey" },
      origins: [],
      scenariosContaining: [],
      scenariosNotContaining: [],
      types: ["ban"],
    },
    ...change,
  });
}

export function feedContent(texts: readonly string[]): FeedContent {
  return { entries: texts.map(entry), expiresAtMs: new Map() };
}

export function aReading(texts: readonly string[], { invalid = 0, duplicates = 0 } = {}): FeedReading {
  const content = feedContent(texts);
  const valid = content.entries.length;
  return {
    content,
    counts: { total: valid + invalid + duplicates, valid, invalid, duplicates },
    invalidLines: [],
  };
}

/** `192.0.2.1`, `192.0.2.2` and so on. */
export function someAddresses(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `192.0.${2 + Math.floor(index / 250)}.${1 + (index % 250)}`);
}

export function textFacts(change: Partial<TextFacts> = {}): TextFacts {
  return {
    etag: undefined,
    lastModified: undefined,
    sha256: "",
    ...change,
  };
}
