// A suite of the operator on a separate control plane. After every test, all written statuses are checked; the
// last tests check for events that must never have happened.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { everythingPrinted, printedByCommand } from "../processes/wafsync-process.ts";
import { describeWithOwnControlPlane } from "../control-plane/suite.ts";
import { OperatorWorld } from "./operator-world.ts";

interface OperatorSuiteOptions {
  /** A new API server rejects everything until it has read the roles. */
  readonly restartsApiServer?: boolean;
}

/** `body` gets a function that returns the world, because the world does not exist yet when the tests are described. */
export async function describeOperator(
  title: string,
  body: (world: () => OperatorWorld) => void,
  options: OperatorSuiteOptions = {},
): Promise<void> {
  await describeWithOwnControlPlane(title, (controlPlane) => {
    // A separate block, so that it ends before the control plane does.
    describe("the operator", () => {
      let begun: OperatorWorld | undefined;
      const world = (): OperatorWorld => {
        if (begun === undefined) throw new Error("the world of the suite has not begun");
        return begun;
      };
      beforeAll(async () => {
        begun = await OperatorWorld.begin(controlPlane);
      });
      afterEach(() => {
        expect(world().history.takeFaults()).toStrictEqual([]);
      });
      afterAll(async () => await begun?.end());
      body(world);
      testWhatMustNeverHappen(world, options);
    });
  });
}

function testWhatMustNeverHappen(world: () => OperatorWorld, { restartsApiServer }: OperatorSuiteOptions): void {
  test("never were two requests at one WAF at the same time, and none was wrong", () => {
    const { simulator } = world();
    const overlaps = simulator.wafs().flatMap(({ domain, flights }) => (flights.max > 1 ? [domain] : []));
    expect(overlaps).toStrictEqual([]);
    expect([simulator.unknownCalls, simulator.internalErrors]).toStrictEqual([0, []]);
    const counters = simulator.wafs().map((waf) => waf.counters);
    expect(counters.filter((counter) => counter.deletionsInOtherSpelling > 0)).toStrictEqual([]);
  });

  test("nothing was refused for want of rights, and nothing was unexpected", () => {
    const refused = printedByCommand("operator")
      .split("\n")
      // A namespace or a definition that is being deleted accepts no new objects.
      .filter((line) => /forbidden/i.test(line) && !/being terminated|definition is terminating/.test(line))
      .filter((line) => restartsApiServer !== true || !/cannot (?:list|watch) resource/.test(line))
      // The history is written with the next batch, when the API server has loaded roles and CRDs again.
      .filter((line) => restartsApiServer !== true || !line.includes('"msg":"could not write history"'));
    const lines = everythingPrinted().split("\n");
    const unexpected = lines.filter((line) => /"level":"(?:error|fatal)"|TypeError|RangeError/.test(line));
    expect(refused).toStrictEqual([]);
    expect(unexpected.filter((line) => !line.includes("lost the lease"))).toStrictEqual([]);
  });

  test("no key is in a log, a metric, an event, a status or a record", async () => {
    expect(await world().leaks()).toStrictEqual([]);
  });
}
