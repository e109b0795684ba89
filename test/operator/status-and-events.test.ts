// The operator's reports about entries: events with their names, and who approved removals.
import { beforeAll, expect, test } from "@jest/globals";
import { addresses, rule } from "../support/builders/manifests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import type { KubeEvent } from "../support/worlds/operator-world.ts";

await describeOperator("the reports of the operator", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

  async function told(namespace: string, kind: string, name: string, reason: string): Promise<KubeEvent> {
    let found: KubeEvent | undefined;
    await world().eventually(`the event ${reason} of ${kind} ${name}`, async () => {
      const events = await world().events(namespace);
      found = events.find(({ involvedObject: of, reason: why }) => {
        return of.kind === kind && of.name === name && why === reason;
      });
      return found !== undefined;
    });
    return found!;
  }

  test("events name the entries and the rule, and events about approvals name who set the annotation", async () => {
    const { namespace, waf } = await world().newInstance("named", { guards: { maxRemovals: 2 } });
    await world().apply(rule(namespace, "feed", addresses(14)), rule(namespace, "short", ["203.0.113.1"]));
    await world().allReady(namespace);
    const onRule = await told(namespace, "WafIpRule", "feed", "EntriesAdded");
    expect(onRule.message).toMatch(new RegExp(`^Added 14 entries for WafIpRule ${namespace}/feed: .* and 4 more\\.$`));
    expect(onRule.message.split(", ")).toHaveLength(10);
    await world().eventually("the instance tells the same", async () =>
      (await world().events(namespace)).some(
        ({ involvedObject: of, message }) => of.kind === "WafInstance" && message === onRule.message,
      ),
    );

    await world().remove(rule(namespace, "short", []));
    const removed = await told(namespace, "WafInstance", "waf", "EntriesRemoved");
    expect(removed.message).toBe(`Removed 1 entry of WafIpRule ${namespace}/short: 203.0.113.1.`);

    await world().apply(rule(namespace, "feed", addresses(10)));
    const held = await told(namespace, "WafInstance", "waf", "RemovalsHeld");
    const hash = /=([0-9a-f]{12})$/.exec(held.message)?.[1] ?? "";
    const annotate = ["annotate", "wafinstance", "waf", "-n", namespace, `wafsync.dev/approve-removals=${hash}`];
    await world().cluster.expectKubectl(annotate);
    const approved = await told(namespace, "WafInstance", "waf", "RemovalsApproved");
    expect(approved.message).toMatch(
      new RegExp(`^4 removals are approved by .*: "${hash}", which kubectl-annotate set at 20\\d\\d-.*Z\\.$`),
    );
    await world().eventually("they are gone", () => waf.view.blocklist.length === 10);
    expect((await told(namespace, "WafIpRule", "feed", "EntriesRemoved")).message).toContain("Removed 4 entries of");
    // The status comes after the events: what follows must not mistake it for the next hold.
    await world().allReady(namespace);

    await world().apply(rule(namespace, "feed", addresses(3)));
    await world().becomes("WafInstance", namespace, "waf", "Ready", "False Held");
    await world().apply(rule(namespace, "feed", addresses(10)));
    const resumed = await told(namespace, "WafInstance", "waf", "RemovalsResumed");
    expect(resumed).toMatchObject({ type: "Normal", message: "No removals are on hold any longer." });
  });
});
