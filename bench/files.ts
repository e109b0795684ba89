// The files that `npm run bench -- --write` reads and writes.
import { join } from "node:path";

/** The text of the page, without the tables. */
export const templateFile = join(import.meta.dirname, "performance-template.md");
/** The latest tables of each benchmark. */
export const resultsFile = join(import.meta.dirname, "results.json");
export const pageFile = join(import.meta.dirname, "../docs/operations/performance.md");
