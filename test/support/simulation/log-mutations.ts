// The guarantees about forwarded logs, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const run = "src/reconcile/logs/forward-run.ts";
const judging = "src/reconcile/logs/judge-rows.ts";
const judgingTest = "test/reconcile/logs/judge-logs.test.ts";

export const logMutations: readonly Mutation[] = [
  {
    guard: "log rows that arrive late are forwarded",
    file: "src/plan/logs/cursor.ts",
    from: "const first = Math.min(this.#nextDay, this.#openDay, today - lookbackDays);",
    to: "const first = today + 0 * lookbackDays;",
    foundBy: "simulation",
  },
  {
    guard: "a clock that was ahead neither stops the reading of logs nor loses or repeats rows",
    file: "src/plan/logs/cursor.ts",
    from: "if (this.#nextDay > today + 1) this.#goBack(today, lookbackDays);",
    to: "",
    foundBy: "test/reconcile/logs/forward-logs.test.ts",
  },
  {
    guard: "the latest days with log rows stay known, whatever the clock says",
    file: "src/plan/logs/cursor.ts",
    from: "const newest = this.#newestDay === 0 ? today : this.#newestDay;",
    to: "const newest = today;",
    foundBy: "test/reconcile/logs/forward-logs.test.ts",
  },
  {
    guard: "the latest day with log rows is one of their own times",
    file: "src/plan/logs/cursor.ts",
    from: "const own = Math.floor(logTimeMs(timestamp) / dayMs);",
    to: 'const own = timestamp === "" ? Math.floor(logTimeMs(timestamp) / dayMs) : day;',
    foundBy: "test/reconcile/logs/judge-logs.test.ts",
  },
  {
    guard: "the time of a log row without a zone is in UTC",
    file: "src/model/log-entry.ts",
    from: "hasNoZone ? `${timestamp}Z` : timestamp",
    to: "hasNoZone ? `${timestamp}` : timestamp",
    foundBy: "test/model/log-entry.test.ts",
  },
  {
    guard: "automatic blocks count no rows of another day than the one that was asked",
    file: judging,
    from: "!Number.isNaN(atMs) && dayOf(atMs) !== day",
    to: "!Number.isNaN(atMs) && dayOf(atMs) !== day && day < 0",
    foundBy: judgingTest,
  },
  {
    guard: "automatic blocks count no day that is not complete",
    file: judging,
    from: "if (came < total || requests > reported) {",
    to: "if (requests > reported) {",
    foundBy: judgingTest,
  },
  {
    guard: "automatic blocks count no more requests of a day than the API reports",
    file: judging,
    from: "if (came < total || requests > reported) {",
    to: "if (came < total) {",
    foundBy: judgingTest,
  },
  {
    guard: "automatic blocks count a row once, however its other fields change",
    file: judging,
    from: "http_method, request_path, user_agent]);",
    to: "http_method, request_path, user_agent, timestamp]);",
    foundBy: judgingTest,
  },
  {
    guard: "automatic blocks count a row that comes twice once",
    file: judging,
    from: "if (isDoubtful && copy > 1) continue;",
    to: "",
    foundBy: judgingTest,
  },
  {
    guard: "automatic blocks count a row on two pages once",
    file: judging,
    from: "this.#added.get(identity) ?? known.get(identity) ?? 0 });",
    to: "known.get(identity) ?? 0 });",
    foundBy: judgingTest,
  },
  {
    guard: "automatic blocks drop what they counted in a reading that must be repeated",
    file: judging,
    from: "if (isFirst) this.#begin();",
    to: "",
    foundBy: judgingTest,
  },
  {
    guard: "automatic blocks count none of several equal rows twice",
    file: "src/plan/blocking/judge.ts",
    from: "if (copy <= known) continue;",
    to: "",
    foundBy: judgingTest,
  },
  {
    guard: "a day that automatic blocks did not count is read again",
    file: run,
    from: "judged?.isComplete === false ? undefined : total",
    to: "total",
    foundBy: judgingTest,
  },
  {
    guard: "a day is read again if rows were missing, even if no new ones came",
    file: judging,
    from: "isComplete: came >= total",
    to: "isComplete: true",
    foundBy: judgingTest,
  },
  {
    guard: "automatic blocks exempt what the WAF's own allowlist shows",
    file: "src/plan/lists/judged-entries.ts",
    from: "if (clients.length === 0 || shown === undefined) return [];",
    to: "if (clients.length >= 0 || shown === undefined) return [];",
    foundBy: "test/plan/instance/auto-blocks.test.ts",
  },
  {
    guard: "automatic blocks exempt the current primary origin",
    file: "src/plan/instance/draft-auto-block.ts",
    from: "...(shown?.primaryOrigin === undefined ? [] : [shown.primaryOrigin])]",
    to: "]",
    foundBy: "test/plan/instance/auto-blocks.test.ts",
  },
  {
    guard: "requests that automatic blocks counted stay counted for their window",
    file: "src/plan/blocking/judge.ts",
    from: "this.#oldestMs(nowMs) - this.#declared.windowMs",
    to: "this.#oldestMs(nowMs)",
    foundBy: "test/plan/blocking/judge.test.ts",
  },
  {
    guard: "log rows count as forwarded only after the output has accepted them",
    file: run,
    from: "if (problem !== undefined) {\n        cursor.giveBack(day, entries.slice(start));",
    to: "if (problem !== undefined) {",
    foundBy: "simulation",
  },
  {
    guard: "log rows that are recorded as forwarded are not forwarded again",
    file: run,
    from: "memory.cursor = known?.cursor ?? new LogCursor(",
    to: "memory.cursor = new LogCursor(",
    foundBy: "simulation",
  },
];
