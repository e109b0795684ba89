// Suites that run a program of the system, such as another shell. If it is not installed, they are skipped with a clear message.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe } from "@jest/globals";
import { skipSuite } from "../support/processes/describe-missing.ts";

/** The path of a program on `PATH`. */
function findProgram(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param body gets the path of the program */
export function describeWithProgram(program: string, title: string, body: (path: string) => void): void {
  const path = findProgram(program);
  if (path !== undefined) {
    describe(title, () => {
      body(path);
    });
    return;
  }
  skipSuite(title, `needs ${program}, which is not installed`);
}
