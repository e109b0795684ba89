// The guarantees about feeds, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const guards = "src/plan/feeds/guards.ts";
const state = "src/plan/feeds/feed-state.ts";
const stateTest = "test/plan/feeds/feed-state.test.ts";
const fetchTest = "test/feed/fetch/fetch-feed.test.ts";
const recordTest = "test/records/typed-records.test.ts";
const crowdsecTest = "test/feed/crowdsec/crowdsec-source.test.ts";

export const feedMutations: readonly Mutation[] = [
  {
    guard: "`minEntries` puts content of a feed on hold",
    file: guards,
    from: "if (valid >= minEntries) return undefined;",
    to: "if (valid >= 0) return undefined;",
    foundBy: "simulation",
  },
  {
    guard: "`maxEntries` puts content of a feed on hold",
    file: guards,
    from: "if (valid <= maxEntries) return undefined;",
    to: "if (valid <= maxEntries * 2) return undefined;",
    foundBy: "simulation",
  },
  {
    guard: "`maxAddresses` puts content of a feed on hold",
    file: guards,
    from: "ipv4 <= maxAddresses && ipv6 <= maxAddresses;",
    to: "ipv4 + ipv6 < Infinity;",
    foundBy: "test/plan/feeds/guards.test.ts",
  },
  {
    guard: "changes of a feed that are reported individually obey `maxEntries` and `maxAddresses`",
    file: guards,
    from: 'return tooLarge(reading, guards) ?? { verdict: "Accept" };',
    to: 'return guards.maxEntries < 0 ? tooLarge(reading, guards)! : { verdict: "Accept" };',
    foundBy: stateTest,
  },
  {
    guard: "`maxShrinkPercent` compares entries and not only their number",
    file: guards,
    from: "(lastGood?.entries ?? []).filter((entry) => !current.has(entry)).length;",
    to: "Math.max(0, before - current.size);",
    foundBy: "test/plan/feeds/guards.test.ts",
  },
  {
    guard: "`maxShrinkPercent` puts content of a feed on hold",
    file: guards,
    from: "if (before < shrinkGuardEntriesMin || lost * 100 <= before * maxShrinkPercent) return undefined;",
    to: "if (before < shrinkGuardEntriesMin || lost <= before * maxShrinkPercent) return undefined;",
    foundBy: "simulation",
  },
  {
    guard: "`maxInvalidPercent` puts content of a feed on hold",
    file: guards,
    from: "if (total < invalidGuardLinesMin || invalid * 100 <= total * maxInvalidPercent) return undefined;",
    to: "if (total < invalidGuardLinesMin || invalid <= total * maxInvalidPercent) return undefined;",
    foundBy: "simulation",
  },
  {
    guard: "an HTML page is not accepted as the content of a feed",
    file: guards,
    from: "if (facts.looksLikeMarkup) {",
    to: "if (facts.looksLikeMarkup && facts.bytes === 0) {",
    foundBy: "simulation",
  },
  {
    guard: "an empty response is not accepted as the content of a feed, even with an annotation",
    file: guards,
    from: "if (facts.bytes === 0 && reading.counts.total === 0) {",
    to: "if (facts.bytes === 0 && reading.counts.total > 0) {",
    foundBy: "simulation",
  },
  {
    guard: "the last good content survives a failed fetch",
    file: state,
    from: "return { ...state, failures, fault, nextFetchMs: next };",
    to: "return { ...state, good: undefined, failures, fault, nextFetchMs: next };",
    foundBy: "simulation",
  },
  {
    guard: "an acceptance applies only to the content with its hash",
    file: state,
    from: "return acceptanceOf(feed) === hash && usedAcceptance !== hash;",
    to: "return acceptanceOf(feed) !== undefined && usedAcceptance !== hash;",
    foundBy: "simulation",
  },
  {
    guard: "an acceptance works only once",
    file: state,
    from: "return acceptanceOf(feed) === hash && usedAcceptance !== hash;",
    to: "return acceptanceOf(feed) === hash;",
    foundBy: stateTest,
  },
  {
    guard: "entries that have expired do not count for `maxShrinkPercent`",
    file: state,
    from: "withoutEnded(state.good.content, moment.nowMs);",
    to: "withoutEnded(state.good.content, 0);",
    foundBy: stateTest,
  },
  {
    guard: "entries that expired in a feed count for no guard of removals",
    file: "src/plan/lists/removal-guard.ts",
    from: 'ended.get(`${id} ${owner.source ?? ""}`)?.has(entry) === true;',
    to: "ended.size < 0;",
    foundBy: "test/plan/lists/removal-guard.test.ts",
  },
  {
    guard: "entries that are removed from a feed before their end count for the guards of removals",
    file: "src/plan/lists/removal-guard.ts",
    from: 'ended.get(`${id} ${owner.source ?? ""}`)?.has(entry) === true;',
    to: "ended.size >= 0;",
    foundBy: "test/plan/lists/removal-guard.test.ts",
  },
  {
    guard: "the last good content is loaded before the first run",
    file: "src/reconcile/feeds/feed-book.ts",
    from: "state: adapted(state ?? before?.state ?? initialFeedState(feed), feed),",
    to: "state: adapted(before?.state ?? initialFeedState(feed), feed),",
    foundBy: "simulation",
  },
  {
    guard: "the record of a former feed of the same name counts as absent",
    file: "src/records/record-object.ts",
    from: "owner !== undefined && spec?.feed?.uid !== owner.uid",
    to: "owner !== undefined && spec?.feed?.uid === ''",
    foundBy: recordTest,
  },
  {
    guard: "the content of a feed that is created again survives the deletion of the former one's",
    file: "src/records/cluster-record-store.ts",
    from: '    if (isOfFormerFeed(key, owner, head)) return { state: "Absent", revision };',
    to: '    this.#known.set(idOf(key), { ...known, parts: head.spec?.parts ?? [] });\n    if (isOfFormerFeed(key, owner, head)) return { state: "Absent", revision };',
    foundBy: recordTest,
  },
  {
    guard: "content is stored before it is used",
    file: "src/reconcile/feeds/feed-book.ts",
    from: "if (problem !== undefined) {",
    to: 'if (problem === "") {',
    foundBy: "simulation",
  },
  {
    guard: "a truncated response is not accepted as the content of a feed",
    file: "src/net/http-connection.ts",
    from: "throw faultOf(failed() ?? error);",
    to: "return;",
    foundBy: fetchTest,
  },
  {
    guard: "a reset connection is not the end of a response without a length",
    file: "src/net/http-connection.ts",
    from: "if (failed() !== undefined) throw faultOf(failed());",
    to: 'if (failed() === "") throw faultOf(failed());',
    foundBy: fetchTest,
  },
  {
    guard: "with filters, CrowdSec reports every decision and not only the longest for each value",
    file: "src/feed/crowdsec/crowdsec-source.ts",
    from: 'hasFilters(query) && { dedup: "false" };',
    to: "hasFilters(query) && {};",
    foundBy: crowdsecTest,
  },
  {
    guard: "feeds are fetched only from checked addresses",
    file: "src/feed/fetch/feed-request.ts",
    from: "keepAliveMs: 0, check: options",
    to: "keepAliveMs: 0",
    foundBy: fetchTest,
  },
  {
    guard: "the full list is read with the CrowdSec call that fails if the table is missing",
    file: "src/feed/crowdsec/crowdsec-source.ts",
    from: "const answer = await this.#get(pull, decisionsPath(pull.source), signal);",
    to: "const answer = await this.#get(pull, `${streamPath(pull.source)}&x=1`, signal);",
    foundBy: crowdsecTest,
  },
];
