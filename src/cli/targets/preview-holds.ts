// What a run over a folder would find on hold now: the plan itself, so that the hash is the one that a run asks for.
import { readEnvironment } from "../../app/config.ts";
import { openStandalone } from "../../app/standalone.ts";
import { createStopping } from "../../app/stopping.ts";
import { realClock } from "../../async/clock.ts";
import type { Redactor } from "../../model/redactor.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { heldGroups } from "../../reconcile/status/held-groups.ts";
import { troubleOf } from "../../reconcile/status/trouble.ts";
import { CommandError } from "../describe-error.ts";
import type { OnHold } from "./target.ts";

interface PreviewOptions {
  readonly directory: string;
  readonly stateDirectory: string;
  readonly allowInsecureHttp: boolean;
  readonly instance: ObjectName;
  readonly redactor: Redactor;
}

/** @throws CommandError if there is no plan, for example because the WAF can't be read */
export async function previewHolds(options: PreviewOptions): Promise<OnHold> {
  const { instance, allowInsecureHttp, ...folder } = options;
  const stopping = createStopping(realClock);
  const opened = await openStandalone({
    ...folder,
    baseUrls: { allowInsecureHttp, allowedBaseUrls: undefined },
    environmentKey: readEnvironment().apiKey,
    isDryRun: true,
    clock: realClock,
    random: Math.random,
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
      throw new CommandError(`what is on hold is not known: ${why}`);
    }
    return { hash: plan.held?.hash, groups: plan.held === undefined ? [] : heldGroups(plan.held) };
  } finally {
    await opened.standalone.close();
    stopping.done();
  }
}
