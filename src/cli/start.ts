#!/usr/bin/env node
// The entry of the bundle: rejects old versions of Node.js, which could not load the other modules.
import { nodeVersionProblem } from "./node-version.ts";

const exitError = 2;

const problem = nodeVersionProblem(process.versions.node);
if (problem === undefined) await import("./main.ts");
else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = exitError;
}
