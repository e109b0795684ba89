// How the lists of mutations are written.

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

/** The mutations of one file that one check detects: each guarantee with the change that breaks it, `from → to`. */
export function breaks(file: string, foundBy: string, changes: Readonly<Record<string, string>>): readonly Mutation[] {
  return Object.entries(changes).map(([guard, change]) => {
    const [from = "", to = ""] = change.split(/ →(?: |$)/u);
    return { guard, file, from, to, foundBy };
  });
}
