#!/usr/bin/env node
// The entry of the bundle: rejects old versions of Node.js, which could not load the other modules, and turns on Node's compile
// cache for everything that is loaded afterwards.
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
