// Runs a page step by step, and compares every output that it shows.
import { isOutput, isPartOfOutput } from "./compare-output.ts";
import type { PageSession } from "./page-session.ts";
import type { PageCommand, PageStep } from "./page-steps.ts";

/** @throws with the line of the page, what it shows and what was printed, at the first step that differs */
export async function runSteps(page: string, steps: readonly PageStep[], session: PageSession): Promise<number> {
  let commands = 0;
  for (const step of steps) {
    const fail = (problem: string): never => {
      throw new Error(`${page}:${step.line}: ${problem}`);
    };
    if (step.kind === "Interruption") await session.interrupt(step.script);
    else if (step.kind === "File") await session.run(`cat > '${step.path}' <<'END-OF-FILE'\n${step.text}END-OF-FILE`);
    else if (step.kind === "Preparation") {
      const { code, printed } = await session.run(step.script);
      if (code !== 0) fail(`the preparation ended with ${String(code)}:\n${printed}`);
      const { shown } = step;
      if (shown !== undefined) await session.printsInBackground((text) => isPartOfOutput(shown, text));
    } else {
      commands += 1;
      const problem = await (step.isInBackground ? startCommand(step, session) : runCommand(step, session)).catch(
        (error: unknown) => String(error),
      );
      if (problem !== undefined) fail(`\n${step.script}\n${problem}`);
    }
  }
  return commands;
}

async function startCommand(step: PageCommand, session: PageSession): Promise<string | undefined> {
  const { shown, hasOtherFigures } = step;
  await session.start(step.script);
  if (shown !== undefined) await session.printsInBackground((text) => isPartOfOutput(shown, text, hasOtherFigures));
  return undefined;
}

/** The problem, or undefined. What the page shows may also be the answer of something that runs in the background. */
async function runCommand(step: PageCommand, session: PageSession): Promise<string | undefined> {
  const { shown, hasOtherFigures, exitCode } = step;
  const { code, printed } = await session.run(step.script, { stopsAtFailure: exitCode === 0 });
  if (code !== exitCode) return `ended with ${String(code)} instead of ${exitCode}:\n${printed}`;
  if (shown === undefined || isOutput(shown, printed, hasOtherFigures)) return undefined;
  const inBackground = (text: string): boolean => isPartOfOutput(shown, text, hasOtherFigures);
  if (
    session.hasBackground &&
    (await session.printsInBackground(inBackground).then(
      () => true,
      () => false,
    ))
  ) {
    return undefined;
  }
  return `The page shows:\n${shown}\nIt printed:\n${printed}`;
}
