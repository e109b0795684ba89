import { describe, expect, test } from "@jest/globals";
import { SecretSearch } from "../../src/model/redactor.ts";
import { readLogAnswer, logPageLengthMax } from "../../src/waf/answer.ts";
import { row } from "../support/fakes/scripted-logs.ts";

function read(text: string) {
  return readLogAnswer(text, new SecretSearch(), (message) => message);
}

function page(hits: readonly unknown[], more: object = {}): unknown {
  return { _scroll_id: null, hits: { total: { value: hits.length }, hits }, ...more };
}

function entriesIn(text: string) {
  const parsed = read(text);
  if (!parsed.ok) throw new TypeError(parsed.problem);
  const rows = parsed.value.rows();
  // Whoever keeps the page reads the same rows from it again.
  expect(parsed.value.rows()).toStrictEqual(rows);
  return rows;
}

function entriesOf(hits: readonly unknown[]) {
  return entriesIn(JSON.stringify(page(hits)));
}

describe("a page of logs", () => {
  test.each([
    [{ hits: { total: { value: 0 }, hits: [] } }, "_scroll_id"],
    [{ _scroll_id: null, hits: { hits: [] } }, "hits.total"],
    [{ _scroll_id: "", hits: { total: { value: 0 }, hits: [] } }, "_scroll_id"],
    [{ _scroll_id: null, hits: { total: { value: -1 }, hits: [] } }, "hits.total.value"],
    [{ _scroll_id: null, hits: { total: { value: 0 }, hits: {} } }, "hits.hits"],
    [page(Array.from({ length: logPageLengthMax + 1 }, () => 0)), "hits.hits"],
    [[], "the body"],
  ])("%#: is rejected if a part is missing", (value, place) => {
    expect(read(JSON.stringify(value))).toStrictEqual({ ok: false, problem: expect.stringContaining(place) });
  });

  test("contains its rows unchanged, including undocumented fields", () => {
    const odd = { ...row("/"), ja4: { hash: [1] } };
    expect(entriesOf([row("/a"), odd])).toStrictEqual({ entries: [row("/a"), odd], broken: [] });
  });

  test.each([
    [{ referrer: null }],
    [{ user_agent: null, country: null }],
    [{ request_path: "/" + "é😀\u0000\u202E".repeat(100_000) }],
    [{ user_agent: "\uD800" }],
    [{ timestamp: "yesterday, about noon", client_ip: "", http_method: "", block_reason: "" }],
    [{ response_size: 0.5, http_status: 0 }],
  ])("%#: takes odd entries", (change) => {
    expect(entriesOf([row("/", change)])).toMatchObject({ entries: [row("/", change)], broken: [] });
  });

  test.each([
    ["timestamp", undefined],
    ["timestamp", 1],
    ["timestamp", ""],
    ["client_ip", null],
    ["http_method", 0],
    ["request_path", undefined],
    ["http_status", "403"],
    ["response_size", null],
    ["referrer", undefined],
    ["user_agent", 5],
    ["block_reason", null],
    ["country", {}],
    ["cache_hit", "no"],
  ])("reports a malformed %s, %j, by its position and without its content", (field, value) => {
    const { entries, broken } = entriesOf([row("/a"), { ...row("/secret"), [field]: value }, row("/b")]);
    expect(entries).toStrictEqual([row("/a"), row("/b")]);
    expect(broken).toStrictEqual([{ position: 1, problem: expect.stringContaining(field) }]);
    expect(broken[0]?.problem).not.toContain("secret");
  });

  test("reports an entry with undocumented fields that are nested too deeply", () => {
    const [entry] = [JSON.stringify({ ...row("/"), deep: 0 })];
    const deep = entry?.replace('"deep":0', `"deep":${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    const rows = entriesIn(`{"_scroll_id":null,"hits":{"total":{"value":1},"hits":[${deep}]}}`);
    expect(rows).toStrictEqual({ entries: [], broken: [{ position: 0, problem: "is nested too deep" }] });
  });

  test.each([[null], ["text"], [[]], [7]])("reports an entry that is %j", (entry) => {
    expect(entriesOf([entry]).broken).toStrictEqual([{ position: 0, problem: "is not an object" }]);
  });
});
