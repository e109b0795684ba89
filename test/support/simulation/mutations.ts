// wafsync's guarantees, each with the smallest source change that breaks it. `npm run mutate` applies each change to a copy of
// the source and checks that a test fails. A test keeps the table in docs/contributing/reliability.md in sync with this list.

import type { Mutation } from "./breaks.ts";
import { featureMutations } from "./feature-mutations.ts";
import { listMutations } from "./list-mutations.ts";
import { surroundingsMutations } from "./surroundings-mutations.ts";

export const mutations: readonly Mutation[] = [...listMutations, ...featureMutations, ...surroundingsMutations];

/** One row of the table in docs/contributing/reliability.md. */
export function rowOf({ guard, file, foundBy }: Mutation): string {
  const test = foundBy === "simulation" ? "the simulation" : `\`${foundBy}\``;
  return `| ${guard} | \`${file}\` | ${test} |`;
}
