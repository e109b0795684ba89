// The list of mutations in mutations.yaml.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export interface Mutation {
  /** The guarantee that the mutation breaks, as a sentence. */
  readonly guard: string;
  /** Relative to the root of the repository. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
  /** `simulation`, or the path of the test that fails. */
  readonly foundBy: string;
}

const written = readFileSync(join(import.meta.dirname, "mutations.yaml"), "utf8");

export const mutations = parse(written) as readonly Mutation[];
