// `wafsync approve`: shows the removals on hold, grouped by the rule that last declared the entries, and approves exactly these
// removals.
import { asSentence, counted } from "../model/texts.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { ApproveOptions } from "./commands/incident-commands.ts";
import { CommandError } from "./describe-error.ts";
import { withTarget, onlyInstance, targetWords } from "./targets/open-target.ts";
import type { OnHold } from "./targets/target.ts";
import { type Answer, ask, canAsk } from "./terminal.ts";
import { holdLines } from "./object-view.ts";

/** So many removals are listed without being asked for. */
const listedMax = 10;

/** @returns 0 if the removals are approved or nothing is on hold, 1 if they are not approved, 130 if it was stopped. */
export async function runApprove(options: ApproveOptions): Promise<number> {
  return await withTarget(options, async (target, { out }) => {
    const instance = await onlyInstance(target, options.instance);
    const all = await target.removalsOnHold(instance);
    const onHold = options.rule === undefined ? all : ofRule(options.rule, instance, all);
    const isJson = options.output === "json";
    if (!isJson) for (const line of describe(nameKey(instance), onHold, options)) out.line(line);
    const { hash } = onHold;
    const confirmed = hash === undefined ? "No" : await confirmation(options);
    const isApproved = hash !== undefined && confirmed === "Yes";
    const place = isApproved ? await target.approve(instance, hash) : undefined;
    if (isJson) out.json({ instance: nameKey(instance), ...onHold, approved: isApproved, place });
    else if (place !== undefined) out.line(approved(place, options));
    else if (hash !== undefined) out.line("Nothing was approved.");
    if (confirmed === "Stopped") return 130;
    return isApproved || (hash === undefined && onHold.groups.length === 0) ? 0 : 1;
  });
}

/** Only what this rule declared last. @throws CommandError if it declared none of the removals */
function ofRule(rule: string, { namespace }: ObjectName, { groups: all, ...others }: OnHold): OnHold {
  const name = rule.includes("/") ? rule : `${namespace}/${rule}`;
  const groups = all.filter(({ owners }) => owners.split(", ").some((owner) => owner.endsWith(` ${name}`)));
  if (groups.length === 0 && all.length > 0) {
    throw new CommandError(
      `no entry whose removal is on hold was last declared by ${name}`,
      "Run the command without --rule to see all removals.",
    );
  }
  const hashes = groups.flatMap(({ hash = [] }) => hash);
  return {
    ...others,
    groups,
    hash: hashes.length === 0 || hashes.length < groups.length ? undefined : hashes.join(","),
  };
}

function describe(instance: string, { hash, groups, gap }: OnHold, { list, rule }: ApproveOptions): string[] {
  if (groups.length === 0 && hash === undefined) return [`Nothing is on hold on ${instance}.`];
  if (groups.length === 0) {
    return [
      `No removal is on hold on ${instance}, but its inventory is older than its status: see \`wafsync status\`.`,
    ];
  }
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const title = counted(count, "removal is", "removals are");
  const shownMax = list || count <= listedMax ? count : undefined;
  const lines = [`${title} on hold on ${instance}:`, "", ...holdLines(groups, shownMax), ""];
  if (gap !== undefined && shownMax !== undefined)
    lines.push(`Only the first removals of each rule are known: ${asSentence(gap)}`, "");
  if (hash !== undefined) return lines;
  const why = rule === undefined ? "" : " by rule";
  return [...lines, `These removals cannot be approved${why} now: ${groups[0]?.reason}`];
}

/** @throws CommandError if there is no terminal for the confirmation */
async function confirmation({ yes, output }: ApproveOptions): Promise<Answer> {
  if (yes) return "Yes";
  // A program that reads the list handles the confirmation itself.
  if (output === "json") return "No";
  if (!canAsk()) {
    throw new CommandError(
      "cannot ask for approval: stdin is not a terminal",
      "Add --yes to approve exactly these removals.",
    );
  }
  return await ask("Approve exactly these removals?");
}

function approved(place: string, options: ApproveOptions): string {
  if (options.from === undefined) return `Approved on ${place}. The operator removes them now.`;
  return `Approved in ${place}. A running \`wafsync run\` removes them now; otherwise run: wafsync apply ${targetWords(options).trim()}`;
}
