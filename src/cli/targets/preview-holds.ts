// The removals that a run over a folder would put on hold. Uses the real plan, so that the hash is the same as in a run.
import { createStopping } from "../../app/stopping.ts";
import { realClock } from "../../async/clock.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { visibleText } from "../../model/visible-text.ts";
import { heldGroups } from "../../reconcile/status/held-message.ts";
import { troubleOf } from "../../reconcile/status/trouble.ts";
import { CommandError } from "../describe-error.ts";
import type { FolderPlace } from "./folder-standalone.ts";
import { openFolderStandalone } from "./folder-standalone.ts";
import type { OnHold } from "./target.ts";

/** @throws CommandError if there is no plan, for example because the WAF can't be read */
export async function previewHolds(place: FolderPlace, instance: ObjectName): Promise<OnHold> {
  const stopping = createStopping(realClock);
  const opened = await openFolderStandalone(place, {
    isDryRun: true,
    command: "wafsync approve",
    stopping,
    observer: {},
  });
  if (!opened.ok) throw new CommandError(opened.problem);
  try {
    const previews = await opened.standalone.preview();
    const found = previews.find(({ facts }) => nameKey(facts.gathered.instance.meta) === nameKey(instance));
    if (found === undefined) throw new CommandError(`there is no WafInstance ${nameKey(instance)} in the folder`);
    const { plan } = found.facts;
    if (plan === undefined) {
      const why = troubleOf(found.facts)?.message ?? "The WAF could not be read.";
      throw new CommandError(`the removals on hold are unknown: ${visibleText(why)}`);
    }
    return { hash: plan.held?.hash, groups: plan.held === undefined ? [] : heldGroups(plan.held, Infinity) };
  } finally {
    await opened.standalone.close();
    stopping.done();
  }
}
