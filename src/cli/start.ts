#!/usr/bin/env node
// Where the bundle begins: an old Node.js is refused, with whose modules nothing else could be loaded; and code that Node.js
// compiled in an earlier run is used for everything that is loaded from here on.
import { readEnvironment } from "../app/config.ts";
import { useCompileCache } from "./compile-cache.ts";
import { nodeVersionProblem } from "./node-version.ts";

const exitError = 2;

const problem = nodeVersionProblem(process.versions.node);
if (problem === undefined) {
  useCompileCache(import.meta.filename, readEnvironment().cacheHome);
  await import("./main.ts");
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = exitError;
}
