// What the folder of an instance adds to a report: exemptions, and the entries that rules declare.
import { NetworkIndex } from "../../model/entry-set.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { DesiredState } from "../../plan/instance/desired.ts";
import { compileDesired } from "../../plan/instance/desired.ts";
import { exemptionOf } from "./report-clients.ts";
import type { Exemption } from "./report-clients.ts";
import { openFolder } from "../targets/folder-target.ts";
import type { InstanceSight, TargetOptions } from "../targets/target.ts";

export interface ReportFolder {
  readonly exemptions: readonly Exemption[];
  /** The entries of the Block rules. */
  readonly declared: NetworkIndex;
  readonly notes: readonly string[];
}

/** @throws CommandError if the folder can't be read */
export async function readReportFolder(
  options: TargetOptions,
  directory: string,
  instance: ObjectName,
  nowMs: number,
): Promise<ReportFolder> {
  const target = await openFolder(options, directory);
  try {
    const sight = await target.look(instance, { live: false });
    const desired = compileDesired(sight.gathered, nowMs, sight.inventory?.entries);
    return {
      exemptions: exemptionsOf(sight, desired),
      declared: new NetworkIndex(desired.lists.blocklist.keys()),
      notes: sight.gaps,
    };
  } finally {
    await target.close();
  }
}

/** Includes Allow rules that another rule overrides: a person decided that these addresses should not be blocked. */
function exemptionsOf({ gathered }: InstanceSight, { rules }: DesiredState): Exemption[] {
  const allowed = rules
    .filter(({ rule, expired, isAttached }) => rule.action === "Allow" && !expired && isAttached)
    .flatMap(({ parts }) => parts.flatMap(({ entries }) => [...entries.keys()]));
  return [
    { why: "an Allow rule", networks: new NetworkIndex(allowed) },
    exemptionOf("neverBlock", gathered.instance.guards.neverBlock),
    exemptionOf(
      "a declared origin",
      gathered.origins.map(({ host }) => host),
    ),
    exemptionOf(
      "a WafAutoBlock",
      (gathered.autoBlocks ?? []).flatMap(({ exempt }) => exempt),
    ),
  ];
}
