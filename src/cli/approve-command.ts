// `wafsync approve`: shows the removals on hold by the rule that last declared the entries, and approves exactly these.
import { createInterface } from "node:readline/promises";
import { inThousands } from "../model/sentence.ts";
import { nameKey } from "../model/resource.ts";
import { CommandError, redactError } from "./describe-error.ts";
import { tableLines } from "./table.ts";
import { openTarget } from "./targets/open-target.ts";
import { targetWords } from "./targets/target-words.ts";
import type { OnHold, TargetOptions } from "./targets/target.ts";
import { onlyInstance } from "./targets/target.ts";
import { editedTerminal, terminalOn } from "./terminal.ts";

export interface ApproveOptions extends TargetOptions {
  readonly yes: boolean;
  readonly output: "table" | "json";
}

const header = ["LIST", "REMOVALS", "LAST DECLARED BY", "FOR EXAMPLE", "ON HOLD BECAUSE"];
const examplesMax = 3;

/** @returns 0 if the removals are approved or nothing is on hold, 1 if they are not approved. */
export async function runApprove(options: ApproveOptions): Promise<number> {
  const target = await openTarget(options);
  const redact = (text: string): string => target.redactor.redact(text);
  const out = editedTerminal(terminalOn(process.stdout), redact);
  try {
    const instance = await onlyInstance(target, options.instance);
    const onHold = await target.removalsOnHold(instance);
    const isJson = options.output === "json";
    if (!isJson) for (const line of describe(nameKey(instance), onHold)) out.line(line);
    const { hash } = onHold;
    const isApproved = hash !== undefined && (await isConfirmed(options));
    const place = isApproved ? await target.approve(instance, hash) : undefined;
    if (isJson)
      out.line(JSON.stringify({ instance: nameKey(instance), ...onHold, approved: isApproved, place }, undefined, 2));
    else if (place !== undefined) out.line(approved(place, options));
    return isApproved || onHold.groups.length === 0 ? 0 : 1;
  } catch (error) {
    throw redactError(error, redact);
  } finally {
    await target.close();
  }
}

function describe(instance: string, { hash, groups }: OnHold): string[] {
  if (groups.length === 0 && hash === undefined) return [`Nothing is on hold on ${instance}.`];
  const rows = groups.map(({ list, count, owners, examples, reason }) => {
    const more = count > Math.min(examples.length, examplesMax) ? ", …" : "";
    return [list, inThousands(count), owners, `${examples.slice(0, examplesMax).join(", ")}${more}`, reason];
  });
  const total = inThousands(groups.reduce((sum, { count }) => sum + count, 0));
  const lines = [`${total} removals are on hold on ${instance}:`, "", ...tableLines(header, rows), ""];
  if (hash !== undefined) return lines;
  return [...lines, "These removals cannot be approved now: the declared objects could not be read from their source."];
}

/** @throws CommandError if there is no terminal for the confirmation */
async function isConfirmed({ yes, output }: ApproveOptions): Promise<boolean> {
  if (yes) return true;
  // A program that reads the list handles the confirmation itself.
  if (output === "json") return false;
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new CommandError("cannot ask for approval: stdin is not a terminal", "Add --yes to approve exactly these.");
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question("Remove exactly these from the WAF? [y/N] ");
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}

function approved(place: string, options: ApproveOptions): string {
  if (options.from === undefined) return `Approved on ${place}. The operator removes them now.`;
  return `Approved in ${place}. A running \`wafsync run\` removes them now; otherwise run: wafsync apply ${targetWords(options).trim()}`;
}
