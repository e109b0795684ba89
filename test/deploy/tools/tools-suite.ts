// Suites that need third-party tools: helm, promtool, prometheus, judge. The tools are built once, which takes
// many minutes, so these suites are separate and run only on request. If the tools are not available, the suites are
// skipped with a clear message, and fail with CI=true.
import { describe } from "@jest/globals";
import { type Ended, runToEnd } from "../../support/control-plane/run-to-end.ts";
import { findTools, type Tools } from "../../support/control-plane/go-programs.ts";
import { describeMissing } from "../../support/processes/describe-missing.ts";

/** Await it at the top of the file. */
export async function describeWithTools(title: string, body: (tools: Tools) => void): Promise<void> {
  const here = async (name: string, act: (context: undefined) => void): Promise<void> => {
    describe(name, () => {
      act(undefined);
    });
  };
  await withToolsIn(here, title, body);
}

/** The same in another place, such as `describeOperator`. */
export async function withToolsIn<Context>(
  place: (title: string, body: (context: Context) => void) => Promise<void>,
  title: string,
  body: (tools: Tools, context: Context) => void,
): Promise<void> {
  const found = await findTools();
  if (found.state === "Missing") return describeMissing(title, "its tools", found.problem);
  await place(title, (context) => body(found.tools, context));
}

/** Runs a tool and returns its output; rejects with its output unless the exit code is 0. */
export async function runTool(
  file: string,
  args: readonly string[],
  options: { readonly environment?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<Ended> {
  const ended = await runToEnd(file, args, options);
  if (ended.code === 0) return ended;
  throw new Error(`${file} ${args.join(" ")} ended with ${ended.code}: ${ended.stderr}${ended.stdout}`);
}
