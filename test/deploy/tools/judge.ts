// Returns the health of objects as the engines of Argo CD and Flux assess it, through the program judge.
import { runTool } from "./tools-suite.ts";

export interface Question {
  readonly object: object;
  readonly script?: string;
  readonly expressions?: { readonly current: string; readonly inProgress?: string; readonly failed?: string };
}

export interface Answer {
  readonly status?: string;
  readonly message?: string;
  readonly actions?: Readonly<Record<string, { readonly disabled?: boolean; readonly displayName?: string }>>;
  readonly resources?: readonly { readonly operation: string; readonly resource: Readonly<Record<string, unknown>> }[];
  readonly error?: string;
}

export type Engine = "health" | "discovery" | "action" | "kstatus" | "expression";

/** Assesses all objects in one process, and returns the results in the same order. */
export async function judge(file: string, engine: Engine, questions: readonly Question[]): Promise<Answer[]> {
  const { stdout } = await runTool(file, [engine], { input: JSON.stringify(questions) });
  return JSON.parse(stdout) as Answer[];
}
