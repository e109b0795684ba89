// Decides where Node.js keeps the compiled code of wafsync between two runs. Node.js executes the code there, so no other user
// may be able to change it: the folder is below the user's own cache folder, and never in a temporary folder that users share.
// Without such a folder there is no cache: nothing fails, nothing is printed, and wafsync takes a little longer to start.
import { lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
// Imported as a namespace: old versions of Node.js lack both names, and could not even load this file to print the error.
import * as nodeModule from "node:module";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";

/** How many builds of wafsync keep their compiled code; the oldest is removed for a new one. */
const buildFoldersMax = 4;

const writableByOthers = 0o022;
const accessibleToOthers = 0o077;
const sticky = 0o1000;

/**
 * Must be called before the modules that it should cache are loaded. The environment variables NODE_COMPILE_CACHE, for another
 * folder, and NODE_DISABLE_COMPILE_CACHE have the meaning that Node.js gives them.
 * @param program the file that is run; each build of it has its own cache
 * @param cacheHome the user's folder for caches, if it is not ~/.cache
 */
export function useCompileCache(program: string, cacheHome: string | undefined): void {
  // On Windows, the mode of a file does not say who can write to it.
  const user = process.geteuid?.();
  if (user === undefined || nodeModule.getCompileCacheDir() !== undefined) return;
  try {
    const folder = compileCacheFolder(program, cacheHome ?? join(homedir(), ".cache"), user);
    if (folder !== undefined) nodeModule.enableCompileCache(folder);
  } catch {
    // The home folder does not exist, or the file system is full or read-only: wafsync starts without a cache.
  }
}

/** Creates the folder if needed. Undefined if a user other than this one and root could change or replace it. */
export function compileCacheFolder(program: string, cacheHome: string, user: number): string | undefined {
  if (!isAbsolute(cacheHome)) return undefined;
  // Checked before anything is created: with `sudo`, this may be the home folder of another user.
  const home = realpathSync(dirname(cacheHome));
  if (!isSafe(home, user)) return undefined;
  createFolder(join(home, basename(cacheHome)));
  // Without symbolic links, so that the path that is checked is the path that is used.
  const caches = realpathSync(cacheHome);
  if (!isSafe(caches, user)) return undefined;
  const ours = join(caches, "wafsync");
  createFolder(ours);
  if (!isSafe(ours, user)) return undefined;
  const builds = join(ours, "compiled-code");
  createFolder(builds);
  if (!isPrivate(builds, user)) return undefined;
  const build = Math.trunc(statSync(program).mtimeMs).toString(36);
  const folder = join(builds, build);
  if (createFolder(folder)) removeOldest(builds);
  return isPrivate(folder, user) ? folder : undefined;
}

/**
 * Creates one folder, but not its parents: in places such as /proc, Node.js never returns from creating several at once.
 * @returns false if it exists already
 */
function createFolder(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** True if no user other than this one and root can replace the folder or one of its parents. */
function isSafe(folder: string, user: number): boolean {
  const { uid, mode } = lstatSync(folder);
  // In a sticky folder, such as /tmp, users can replace only what they own.
  const isSafeHere = (uid === user || uid === 0) && ((mode & writableByOthers) === 0 || (mode & sticky) !== 0);
  const parent = dirname(folder);
  return isSafeHere && (parent === folder || isSafe(parent, user));
}

function isPrivate(folder: string, user: number): boolean {
  const stats = lstatSync(folder);
  return stats.isDirectory() && stats.uid === user && (stats.mode & accessibleToOthers) === 0;
}

function removeOldest(builds: string): void {
  const folders = readdirSync(builds)
    .map((name) => ({ path: join(builds, name), createdAtMs: lstatSync(join(builds, name)).mtimeMs }))
    .sort((one, other) => other.createdAtMs - one.createdAtMs);
  for (const { path } of folders.slice(buildFoldersMax)) rmSync(path, { recursive: true, force: true });
}
