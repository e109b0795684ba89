// Keeps the history of runs over a folder in its state directory, for people.
import type { Clock } from "../async/clock.ts";
import type { FileResult, StateDirectory } from "../source/directory/state-directory.ts";
import { createHistoryFiles } from "../source/directory/history-files.ts";
import { HistoryKeeper } from "./history-keeper.ts";

export function directoryHistory(
  state: StateDirectory,
  clock: Clock,
  onProblem: (problem: string) => void,
): HistoryKeeper {
  const files = createHistoryFiles(state);
  const problemOf = (result: FileResult<void>): string | undefined => (result.ok ? undefined : result.problem);
  return new HistoryKeeper(
    {
      append: async (instance, events) => problemOf(await files.append(instance, events)),
      takeOver: async (instance, former) => problemOf(await files.takeOver(instance, former, clock.nowMs())),
    },
    clock,
    onProblem,
  );
}
