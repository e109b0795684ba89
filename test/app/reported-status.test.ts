// The statuses and events of a run, apart from the log: failed writes are reported, and no part of a status is lost.
import { expect, test } from "@jest/globals";
import { reportedStatus, type StatusStore } from "../../src/app/reported-status.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import { Redactor } from "../../src/model/redactor.ts";
import type { ResourceRef } from "../../src/model/resource.ts";
import { aMeta } from "../support/builders/declare.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";

const instance = aMeta("WafInstance", "shop");
const rule = aMeta("WafIpRule", "scanners");

const redactor = new Redactor();

function stage(problem?: string) {
  const recorded = new RecordedStatus();
  const unwritten: ResourceRef[] = [];
  const update: NonNullable<StatusStore["update"]> = async (meta, change) => {
    if (problem !== undefined) return problem;
    const next = change(recorded.read(meta) ?? {});
    if (next !== undefined) await recorded.write(meta, next);
    return undefined;
  };
  const cluster: StatusStore = {
    read: (meta) => recorded.read(meta),
    write: async (meta, next) => await update(meta, () => next),
    update,
    event: (meta, event) => recorded.event(meta, event),
  };
  const status = reportedStatus({ status: cluster, redactor, onUnwritten: (object) => unwritten.push(object) });
  return { recorded, unwritten, status };
}

test("a status that could not be written is reported with its object, each time", async () => {
  const { unwritten, status } = stage("The API server refused it.");
  await status.write(rule, { observedGeneration: 1 });
  await status.write(rule, { observedGeneration: 1 });
  await status.update(instance, (current) => current);
  expect(unwritten).toStrictEqual([rule, rule, instance]);
});

test("the run of an instance keeps the part of its status that log forwarding writes", async () => {
  const { recorded, unwritten, status } = stage();
  await status.update(instance, () => ({ logs: { forwarded: 7 }, domain: "old.example" }));
  await status.write(instance, { domain: "shop.example", logs: { forwarded: 1 } });
  expect(recorded.read(instance)).toMatchObject({ domain: "shop.example", logs: { forwarded: 7 } });
  expect(unwritten).toStrictEqual([]);
});

test("no message contains a key that was ever read, or controls a terminal; data stays unchanged", async () => {
  const { recorded, status } = stage();
  redactor.add(new ApiKey("a-former-key-0123456789"));
  redactor.add(new ApiKey("the-key-of-today-0123456789"));
  const message = "Refused: a-former-key-0123456789 \u001b[2J\u202e\n::stop-commands::x";
  const safe = String.raw`Refused: [api key] \u001b[2J\u202e\u000a::stop-commands::x`;
  const rejected = [{ entry: "1\u009b2", source: "spec.addresses[0]", message }];
  await status.write(rule, { conditions: [{ type: "Ready", message }], rejected, lastTrigger: "a\u202eb" });
  await status.update(instance, () => ({ conditions: [{ type: "LogsForwarded", message }] }));
  status.event(rule, { type: "Warning", reason: "Rejected", message });
  expect(recorded.read(rule)).toStrictEqual({
    conditions: [{ type: "Ready", message: safe }],
    rejected: [{ entry: String.raw`1\u009b2`, source: "spec.addresses[0]", message: safe }],
    lastTrigger: "a\u202eb",
  });
  expect(recorded.read(instance)).toStrictEqual({ conditions: [{ type: "LogsForwarded", message: safe }] });
  expect(recorded.events).toStrictEqual([
    { object: "WafIpRule edge/scanners", type: "Warning", reason: "Rejected", message: safe },
  ]);
});
