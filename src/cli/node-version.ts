// Whether this version of Node.js can run wafsync. Loaded first, so it must not use features that old versions lack.

/** As in `engines` of package.json. */
export const nodeVersionMin = "22.19";

/** A message with the required version; undefined if the version is new enough. */
export function nodeVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin = 0, minorMin = 0] = nodeVersionMin.split(".").map(Number);
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined;
  return `error: wafsync needs Node.js ${nodeVersionMin} or newer, but this is ${version}`;
}
