// The operator's requests to the API server, according to its audit log: few writes, however many objects there are.
// Long: `npm run test:deploy` runs it.
import { expect, test } from "@jest/globals";
import { type AuditedRequest, countByVerb, requestsOf } from "../support/control-plane/audit-log.ts";
import { addresses, rule } from "../support/builders/manifests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { operatorUser } from "../support/worlds/operator-world.ts";

const statusWritesMax = 3;
/** One event on the rule and one on the instance. */
const eventsOfChange = 2;
const writing = new Set(["create", "update", "patch", "delete"]);

await describeOperator(
  "requests to the API server",
  (world) => {
    async function requests(): Promise<AuditedRequest[]> {
      return await requestsOf(operatorUser, world().cluster.directory);
    }

    /** The write requests in the namespace, by verb and resource, once the events are written. */
    async function writesDuring(namespace: string, act: () => Promise<void>): Promise<ReadonlyMap<string, number>> {
      const { length: before } = await requests();
      await act();
      await world().atRest();
      let writes = new Map<string, number>();
      await world().eventually("the events of the change are written", async () => {
        const made = (await requests()).slice(before).filter(({ verb, object }) => {
          // The history is written in batches a few seconds later.
          return writing.has(verb) && object.startsWith(`${namespace}/`) && !object.endsWith("-history");
        });
        writes = countByVerb(made);
        return (writes.get("create events") ?? 0) >= eventsOfChange;
      });
      return writes;
    }

    test("a new rule costs a few writes, and the same number with sixty other rules as with none", async () => {
      await world().startOperator();
      for (const others of [0, 60]) {
        const { namespace } = await world().newInstance("change");
        const existing = Array.from({ length: others }, (_, index) =>
          rule(namespace, `other-${index}`, addresses(2, index * 2)),
        );
        await world().apply(...existing);
        await world().allReady(namespace);
        await world().atRest();
        const writes = await writesDuring(namespace, async () => {
          await world().apply(rule(namespace, "new", ["203.0.113.9"]));
          await world().allReady(namespace);
        });
        const { "create events": events, ...rest } = Object.fromEntries(writes);
        expect(events).toBe(eventsOfChange);
        expect(Object.keys(rest).sort()).toStrictEqual([
          "patch wafinstances/status",
          "patch wafiprules/status",
          "update wafrecords",
        ]);
        expect(Math.max(...Object.values(rest))).toBeLessThanOrEqual(statusWritesMax);
      }
    });
  },
  { audits: true },
);
