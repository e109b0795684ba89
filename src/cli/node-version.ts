// Whether this version of Node.js can run wafsync. Loaded before everything else, so it uses nothing that an old one lacks.

/** As in `engines` of package.json. */
export const nodeVersionMin = "22.19";

/** One line that says what is needed; undefined if the version is new enough. */
export function nodeVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin = 0, minorMin = 0] = nodeVersionMin.split(".").map(Number);
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined;
  return `error: wafsync needs Node.js ${nodeVersionMin} or newer, this is ${version}`;
}
