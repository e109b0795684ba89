// The files that `npm run bench -- --write` reads and writes.
import { join } from "node:path";

/** The prose of the page. */
export const templateFile = join(import.meta.dirname, "performance-template.md");
/** The last measured tables of each bench. */
export const resultsFile = join(import.meta.dirname, "results.json");
export const pageFile = join(import.meta.dirname, "../docs/operations/performance.md");
