// The guarantees about feeds, logs, automatic blocks and cache clears, each with the smallest source change that breaks it.
import { breaks } from "./breaks.ts";
import type { Mutation } from "./breaks.ts";

export const featureMutations: readonly Mutation[] = [
  ...breaks("src/feeds/guards.ts", "simulation", {
    "`minEntries` puts content of a feed on hold":
      "if (valid >= minEntries) return undefined; → if (valid >= 0) return undefined;",
    "`maxEntries` puts content of a feed on hold":
      "if (valid <= maxEntries) return undefined; → if (valid <= maxEntries * 2) return undefined;",
    "`maxShrinkPercent` puts content of a feed on hold":
      "if (before < shrinkGuardEntriesMin || lost * 100 <= before * maxShrinkPercent) return undefined; → if (before < shrinkGuardEntriesMin || lost <= before * maxShrinkPercent) return undefined;",
    "`maxInvalidPercent` puts content of a feed on hold":
      "if (total < invalidGuardLinesMin || invalid * 100 <= total * maxInvalidPercent) return undefined; → if (total < invalidGuardLinesMin || invalid <= total * maxInvalidPercent) return undefined;",
    "an HTML page is not accepted as the content of a feed":
      "if (facts.looksLikeMarkup) { → if (facts.looksLikeMarkup && facts.bytes === 0) {",
    "an empty response is not accepted as the content of a feed, even with an annotation":
      "if (facts.bytes === 0 && reading.counts.total === 0) { → if (facts.bytes === 0 && reading.counts.total > 0) {",
  }),
  ...breaks("src/feeds/guards.ts", "test/feeds/guards.test.ts", {
    "`maxAddresses` puts content of a feed on hold":
      "ipv4 <= maxAddresses && ipv6 <= maxAddresses; → ipv4 + ipv6 < Infinity;",
    "`maxShrinkPercent` compares entries and not only their number":
      "(lastGood?.entries ?? []).filter((entry) => !current.has(entry)).length; → Math.max(0, before - current.size);",
  }),
  ...breaks("src/feeds/guards.ts", "test/feeds/feed-state.test.ts", {
    "changes of a feed that are reported individually obey `maxEntries` and `maxAddresses`":
      'return tooLarge(reading, guards) ?? { verdict: "Accept" }; → return guards.maxEntries < 0 ? tooLarge(reading, guards)! : { verdict: "Accept" };',
  }),
  ...breaks("src/feeds/feed-state.ts", "simulation", {
    "the last good content survives a failed fetch":
      "return { ...state, failures, fault, nextFetchMs: next }; → return { ...state, good: undefined, failures, fault, nextFetchMs: next };",
    "an acceptance applies only to the content with its hash":
      "return acceptanceOf(feed) === hash && usedAcceptance !== hash; → return acceptanceOf(feed) !== undefined && usedAcceptance !== hash;",
  }),
  ...breaks("src/feeds/feed-state.ts", "test/feeds/feed-state.test.ts", {
    "an acceptance works only once":
      "return acceptanceOf(feed) === hash && usedAcceptance !== hash; → return acceptanceOf(feed) === hash;",
    "entries that have expired do not count for `maxShrinkPercent`":
      "withoutEnded(state.good.content, moment.nowMs); → withoutEnded(state.good.content, 0);",
  }),
  ...breaks("src/feeds/feed-book.ts", "simulation", {
    "the last good content is loaded before the first run":
      "state: adapted(state ?? before?.state ?? initialFeedState(feed), feed), → state: adapted(before?.state ?? initialFeedState(feed), feed),",
    "content is stored before it is used": 'if (problem !== undefined) { → if (problem === "") {',
  }),
  ...breaks("src/feeds/crowdsec.ts", "test/feeds/crowdsec.test.ts", {
    "with filters, CrowdSec reports every decision and not only the longest for each value":
      'hasFilters(source) && { dedup: "false" }; → hasFilters(source) && {};',
    "the full list is read with the CrowdSec call that fails if the table is missing":
      "const answer = await this.#get(pull, decisionsPath(pull.source), signal); → const answer = await this.#get(pull, `${streamPath(pull.source)}&x=1`, signal);",
    "setting the clock back does not delay the complete read of CrowdSec's decisions":
      "const nowMs = this.#options.clock.monotonicMs(); → const nowMs = this.#options.clock.nowMs();",
  }),
  ...breaks("src/feeds/feed-request.ts", "test/feeds/fetch-feed.test.ts", {
    "feeds are fetched only from checked addresses": "keepAliveMs: 0, check: options → keepAliveMs: 0",
  }),
  ...breaks("src/clears/rollouts.ts", "simulation", {
    "a completed rollout is followed by a clear":
      "!isHeld && rollout?.isComplete === true → records.length === 0 && !isHeld && rollout?.isComplete === true",
    "a completed rollout causes only one clear": "{ ...record, handled: id, clearedAtMs } → { ...record, clearedAtMs }",
    "two clears for rollouts are `minInterval` apart":
      "(atMs) => atMs + instance.cacheClear.minIntervalMs → (atMs) => atMs",
  }),
  ...breaks("src/clears/rollouts.ts", "test/clears/rollouts.test.ts", {
    "setting the clock back delays no clear for a rollout": ".filter((atMs) => atMs <= nowMs); → ;",
    "a rollout that has started causes a clear even if it is rolled back":
      'return hasBegun ? { ...known, handled: "" } : known; → return known;',
    "a change of a workload that its controller has not observed causes no clear":
      " || rollout.isUnobserved === true) return known; → ) return known;",
    "scaling a workload causes no clear": "known.handled !== rollout.id && !rollout.isComplete; → !rollout.isComplete;",
  }),
  ...breaks("src/clears/cache-clear.ts", "test/clears/cache-clear.test.ts", {
    "setting the clock back delays no other clear":
      "lastAttemptMs === undefined ? undefined : Math.min(lastAttemptMs, nowMs); → lastAttemptMs;",
  }),
  ...breaks("src/clears/cache-clear.ts", "test/clears/cache-clear.test.ts", {
    "setting the clock back delays no clear of a guest": ".filter((atMs) => atMs <= nowMs + intervalMs); → ;",
  }),
  ...breaks("src/logs/cursor.ts", "simulation", {
    "log rows that arrive late are forwarded":
      "const first = Math.min(this.#nextDay, this.#openDay, today - lookbackDays); → const first = today + 0 * lookbackDays;",
  }),
  ...breaks("src/logs/cursor.ts", "test/logs/forward-logs.test.ts", {
    "a clock that was ahead neither stops the reading of logs nor loses or repeats rows":
      "if (this.#nextDay > today + 1) this.#goBack(today, lookbackDays); →",
    "the latest days with log rows stay known, whatever the clock says":
      "const newest = this.#newestDay === 0 ? today : this.#newestDay; → const newest = today;",
  }),
  ...breaks("src/logs/cursor.ts", "test/blocks/judge-logs.test.ts", {
    "the latest day with log rows is one of their own times":
      'const own = Math.floor(logTimeMs(timestamp) / dayMs); → const own = timestamp === "" ? Math.floor(logTimeMs(timestamp) / dayMs) : day;',
  }),
  ...breaks("src/model/log-entry.ts", "test/model/log-entry.test.ts", {
    "the time of a log row without a zone is in UTC":
      "hasNoZone ? `${timestamp}Z` : timestamp → hasNoZone ? `${timestamp}` : timestamp",
  }),
  ...breaks("src/blocks/judge-day.ts", "test/blocks/judge-logs.test.ts", {
    "automatic blocks count no rows of another day than the one that was asked":
      "!Number.isNaN(atMs) && dayOf(atMs) !== day → !Number.isNaN(atMs) && dayOf(atMs) !== day && day < 0",
    "automatic blocks count no day that is not complete":
      "if (came < total || requests > reported) { → if (requests > reported) {",
    "automatic blocks count no more requests of a day than the API reports":
      "if (came < total || requests > reported) { → if (came < total) {",
    "automatic blocks count a row once, however its other fields change":
      "http_method, request_path, user_agent]); → http_method, request_path, user_agent, timestamp]);",
    "automatic blocks count a row that comes twice once": "if (isDoubtful && copy > 1) continue; →",
    "automatic blocks count a row on two pages once":
      "this.#added.get(identity) ?? known.get(identity) ?? 0 }); → known.get(identity) ?? 0 });",
    "automatic blocks drop what they counted in a reading that must be repeated": "if (isFirst) this.#begin(); →",
    "a day is read again if rows were missing, even if no new ones came":
      "isComplete: came >= total → isComplete: true",
  }),
  ...breaks("src/blocks/judge.ts", "test/blocks/judge-logs.test.ts", {
    "automatic blocks count none of several equal rows twice": "if (copy <= known) continue; →",
  }),
  ...breaks("src/blocks/judge.ts", "test/blocks/judge.test.ts", {
    "requests that automatic blocks counted stay counted for their window":
      "this.#oldestMs(nowMs) - this.#declared.windowMs → this.#oldestMs(nowMs)",
    "a single client does not cause its network to be blocked": "found.sources >= sourcesOfNetworkMin && →",
  }),
  ...breaks("src/logs/forward-run.ts", "test/blocks/judge-logs.test.ts", {
    "a day that automatic blocks did not count is read again":
      "judged?.isComplete === false ? undefined : total → total",
    "each row is evaluated once": "memory.judges = known?.judges ?? new Judges(); →",
  }),
  ...breaks("src/logs/forward-run.ts", "simulation", {
    "log rows count as forwarded only after the output has accepted them":
      "if (problem !== undefined) {\n        cursor.giveBack(day, entries.slice(start)); → if (problem !== undefined) {",
    "log rows that are recorded as forwarded are not forwarded again":
      "memory.cursor = known?.cursor ?? new LogCursor( → memory.cursor = new LogCursor(",
  }),
  ...breaks("src/feeds/feed-book.ts", "test/feeds/feed-limits.test.ts", {
    "a namespace leaves reading responses of feeds to the others":
      "{ atOnceMax: 6, ofGroupMax: 3 } → { atOnceMax: 6, ofGroupMax: 6 }",
  }),
  ...breaks("src/logs/day-reading.ts", "test/logs/day-reading.test.ts", {
    "log rows that were forwarded too often are reported":
      "broken, brokenCount, surplus: this.#surplus() } → broken, brokenCount, surplus: 0 * this.#surplus() }",
  }),
  ...breaks("src/blocks/judges.ts", "test/blocks/judges.test.ts", {
    "a stale view of a WafAutoBlock that was created again loses no listed client":
      '!key.endsWith(" ") && listed.some( → key.endsWith(" ") && listed.some(',
  }),
  ...breaks("src/blocks/judge.ts", "test/blocks/judge.test.ts", {
    "a `client_ip` that is not a single address blocks no client":
      'const read = readAddress(text.trim()); → const read = readAddress(text.trim().split(/[,/]/)[0] ?? "");',
  }),
];
