import { expect, test } from "@jest/globals";
import { DroppedCounts } from "../../../src/plan/feeds/blocked-requests.ts";
import { allDecisions, changedDecisions, type Decision } from "../../../src/plan/feeds/crowdsec-decisions.ts";

const endMs = 1_000_000;

function decision(value: string, change: Partial<Decision> = {}): Decision {
  const scope = value.includes("/") ? "Range" : "Ip";
  return { id: 0, scope, type: "ban", value, origin: "crowdsec", scenario: "test/ssh", endMs, ...change };
}

const active = allDecisions(
  new Map(),
  [
    decision("192.0.2.1"),
    decision("192.0.2.0/24", { origin: "lists", scenario: "firehol" }),
    decision("2001:db8::/32", { type: "Captcha" }),
    decision("nonsense"),
  ],
  ["ban", "captcha"],
  1000,
);

function droppedOf(...clients: readonly (readonly [client: string, atMs: number])[]) {
  const dropped = new DroppedCounts();
  dropped.count(
    active,
    clients.map(([client, atMs]) => ({ client, atMs })),
  );
  return dropped.take();
}

test("A blocked request counts for the decision about its address, or otherwise for the one about its network", () => {
  expect(
    droppedOf(
      ["192.0.2.1", 2000],
      ["192.0.2.2", 2000],
      ["192.0.2.3", 2000],
      ["2001:db8::1", 2000],
      ["198.51.100.1", 2000],
    ),
  ).toStrictEqual([
    { origin: "crowdsec", remediation: "ban", ipType: "ipv4", count: 1 },
    { origin: "lists:firehol", remediation: "ban", ipType: "ipv4", count: 2 },
    { origin: "crowdsec", remediation: "captcha", ipType: "ipv6", count: 1 },
  ]);
});

test("A request from before the decision was known or after it ends does not count, nor one that is invalid", () => {
  expect(
    droppedOf(["192.0.2.1", 999], ["192.0.2.1", endMs], ["192.0.2.1", Number.NaN], ["nonsense", 2000]),
  ).toStrictEqual([]);
});

test("A decision keeps the time when it was first seen, through changes and full responses", () => {
  const later = changedDecisions(
    active,
    { added: [decision("192.0.2.1", { endMs: 2 * endMs })], deleted: [] },
    ["ban"],
    5000,
  );
  const again = allDecisions(later, [decision("192.0.2.1")], ["ban"], 9000);
  expect([...later.values(), ...again.values()].map(({ seenMs }) => seenMs)).toStrictEqual([
    1000, 1000, 1000, 1000, 1000,
  ]);
});

test("Counts that were taken are not reported again", () => {
  const dropped = new DroppedCounts();
  dropped.count(active, [{ client: "192.0.2.1", atMs: 2000 }]);
  const [taken] = dropped.take();
  expect(dropped.take()).toStrictEqual([]);
  dropped.add(taken!);
  dropped.count(active, [{ client: "192.0.2.1", atMs: 3000 }]);
  expect(dropped.take()).toMatchObject([{ count: 2 }]);
});
