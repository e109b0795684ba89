#!/usr/bin/env node
// Where the bundle begins: code that Node.js compiled in an earlier run is used for everything that is loaded from here on.
import { readEnvironment } from "../app/config.ts";
import { useCompileCache } from "./compile-cache.ts";

useCompileCache(import.meta.filename, readEnvironment().cacheHome);
await import("./main.ts");
