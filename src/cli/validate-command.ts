// `wafsync validate`: checks the files of a folder without a key, a state directory or a WAF: fields, references, guards and conflicts.
import { realClock } from "../async/clock.ts";
import { faultsIn } from "../decide/compiled-rule.ts";
import { compileDesired } from "../decide/desired.ts";
import type { Gathered } from "../model/gathered.ts";
import type { ResourceMeta } from "../model/resource.ts";
import { counted } from "../model/texts.ts";
import { DirectorySource } from "../source/directory/directory-source.ts";
import { unattachedOf } from "../source/directory/gather.ts";
import { type DirectorySnapshot, placeOfSource, faultText, isError } from "../source/directory/snapshot.ts";
import type { ValidateOptions } from "./commands/folder-commands.ts";
import { withSession } from "./session.ts";
import { checkFolder } from "./targets/folder-target.ts";

/** @returns 0 if everything is valid, 1 if not. */
export async function runValidate(options: ValidateOptions): Promise<number> {
  return await withSession(async ({ out, notes }) => {
    const stateDirectory = await checkFolder(options);
    const how = { stateDirectory, environmentKey: undefined, clock: realClock };
    const source = new DirectorySource({ directory: options.from, ...how });
    const snapshot = await source.load();
    const gathered = await Promise.all(source.instances().map(async (name) => await source.gather(name)));
    const problems = [
      ...snapshot.faults.filter(isError).map(faultText),
      ...unattachedOf(snapshot).map((one) => `${one.declared.meta.location}: spec.instanceRef: ${one.problem}`),
      ...gathered.flatMap((one) => (one === undefined ? [] : problemsOf(one, snapshot))),
    ];
    for (const problem of problems) notes.remark("error", problem);
    const count = Object.values(snapshot.declared).reduce((sum, objects) => sum + objects.length, 0);
    const found = counted(problems.length, "problem", "problems");
    out.line(problems.length === 0 ? `${counted(count, "object is", "objects are")} valid.` : `${found}.`);
    return problems.length === 0 ? 0 : 1;
  });
}

/** What a run would report on the instance and its rules without reading the WAF. */
function problemsOf(gathered: Gathered, snapshot: DirectorySnapshot): string[] {
  const { instanceFaults, rules, compiledOrigins } = compileDesired(gathered, realClock.nowMs());
  const at = ({ location, kind, namespace, name }: ResourceMeta, place = location): string =>
    `${place}: ${kind} ${namespace}/${name}`;
  return [
    ...instanceFaults.map((message) => `${at(gathered.instance.meta)}: ${message}`),
    ...rules.flatMap(({ rule: { meta }, isAttached, message, rejected }) => {
      if (!isAttached) return [`${at(meta)}: ${message}`];
      return faultsIn(rejected).map((one) => {
        const named = one.message.includes(one.entry) ? one.message : `${one.entry}: ${one.message}`;
        return `${at(meta, placeOfSource(snapshot, meta, one.source))}: ${one.source}: ${named}`;
      });
    }),
    ...compiledOrigins.flatMap(({ origin, verdict, message }) =>
      verdict === "Accepted" ? [] : [`${at(origin.meta)}: ${message}`],
    ),
  ];
}
