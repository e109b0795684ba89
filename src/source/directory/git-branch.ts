// The files of a state directory in a branch of a remote repository, by Git's plumbing, in a bare repository of its own: without hooks, and
// with no configuration except what is needed to reach the remote.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { devNull } from "node:os";
import { resolve } from "node:path";
import { parseJson } from "../../model/record.ts";
import { asSentence, shortened, visibleText } from "../../model/texts.ts";
import type { Changes, RemoteFiles, Version } from "./remote-state.ts";

/** A command without an answer is ended; the branch then shows whether it took effect. */
const timeoutMs = 60_000;
const outputBytesMax = 256 * 1024 * 1024;
const problemLengthMax = 500;
const remoteName = "state";
/** The last fetched commit. */
const fetched = "refs/wafsync/fetched";
/** How the remote is reached. Everything else in a configuration could start a program, or change what is stored. */
const reaching = /^(?:http|credential|url|ssh)\.|^core\.(?:sshcommand|askpass|gitproxy)$/;
const ofRemote = ["url", "pushurl", "proxy"];
/** Where Git would look for a repository or a configuration instead. */
const unset = {
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_DIR: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_NAMESPACE: undefined,
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_WORK_TREE: undefined,
};
/** Commits of the branch start no pipelines. */
const skip = "[skip ci]";
const leaseMark = "wafsync-lease: ";
const signature = { name: "wafsync", email: "wafsync@localhost" };

type Environment = Readonly<Record<string, string | undefined>>;
type Setting = readonly [key: string, value: string];

export interface GitBranchOptions {
  /** A URL, a path with a slash, or the name of a remote in the repository of `directory`, whose credentials are then used. */
  readonly remote: string;
  readonly branch: string;
  readonly directory: string;
  /** A folder that does not exist yet, for the bare repository. */
  readonly folder: string;
  /** For Git and its helpers for credentials. */
  readonly environment: Environment;
  /** For the messages of commits: the subject, and a line below it. */
  readonly command: string;
  readonly job: string;
}

export class GitBranch implements RemoteFiles {
  readonly server = "Git server";
  readonly writeHint =
    "Check that this user or job may push to the branch, by force: on GitHub, a job needs `permissions: contents: write`.";
  readonly #ref: string;
  readonly #environment: Environment;
  readonly #message: string;
  /** The last fetched commit: all commits of this process follow it, so that each replaces the one before. */
  #found: Version | undefined;

  private constructor(ref: string, environment: Environment, { command, job }: GitBranchOptions) {
    this.#ref = ref;
    this.#environment = environment;
    this.#message = `${command} ${skip}\n\n${job}\n`;
  }

  static async open(options: GitBranchOptions): Promise<GitBranch> {
    const { remote, branch, directory, folder, environment } = options;
    const ref = `refs/heads/${branch}`;
    const outside = { ...environment, ...unset };
    await runGit(["init", "--bare", "--quiet", "--template=", folder], { ...outside, GIT_CONFIG_GLOBAL: devNull });
    await runGit(["check-ref-format", ref], outside).catch(() => {
      throw new Error(`"${branch}" is not the name of a branch.`);
    });
    const isNamed = /^[\w.-]+$/.test(remote);
    // Without a folder, only the configuration of the user and of the machine applies.
    const where = isNamed ? ["-c", "safe.bareRepository=explicit"] : [`--git-dir=${folder}`];
    const listed = await runGit([...where, "config", "--list", "-z"], outside, "", isNamed ? directory : undefined);
    const found = listed.split("\0").map(settingIn);
    const remotes = isNamed
      ? settingsOfRemote(found, remote)
      : [ownSetting("url", existsSync(remote) ? resolve(remote) : remote)];
    if (!remotes.some(([key]) => key.endsWith(".url"))) {
      throw new Error(
        `The folder ${directory} is in no Git repository with a remote "${remote}". If it is, Git may not trust its owner: run \`git config --global --add safe.directory PATH\`.`,
      );
    }
    const settings: readonly Setting[] = [
      ...found.filter(([key]) => reaching.test(key)),
      ...remotes,
      ["core.hooksPath", devNull],
      ["core.symlinks", "false"],
      ["gc.auto", "0"],
    ];
    return new GitBranch(ref, ownEnvironment(outside, folder, settings), options);
  }

  async tip(): Promise<string | undefined> {
    const listed = await this.#git(["ls-remote", remoteName, this.#ref]);
    const line = listed.split("\n").find((one) => one.endsWith(`\t${this.#ref}`));
    return line?.split("\t", 1)[0];
  }

  async fetch(): Promise<Version | undefined> {
    const tip = await this.tip();
    if (tip !== this.#found?.revision) this.#found = tip === undefined ? undefined : await this.#fetchCommit();
    return this.#found;
  }

  async checkOut(folder: string): Promise<void> {
    await this.#git(["read-tree", this.#found?.revision ?? "--empty"]);
    await this.#git([`--work-tree=${folder}`, "checkout-index", "--all", "--force"]);
  }

  async commit(before: string | undefined, changes: Changes, lease: object | undefined): Promise<string | undefined> {
    await this.#git(["read-tree", before ?? "--empty"]);
    let lines = "";
    for (const [path, content] of changes) {
      const [mode, hash] =
        content === undefined
          ? ["0", "0".repeat(40)]
          : ["100644", (await this.#git(["hash-object", "-w", "--stdin"], content)).trim()];
      lines += `${mode} ${hash}\t${path}\0`;
    }
    if (lines !== "") await this.#git(["update-index", "-z", "--index-info"], lines);
    const tree = (await this.#git(["write-tree"])).trim();
    const { revision: parent, lease: former } = this.#found ?? {};
    // A job that changed nothing leaves no commit.
    if (lease === undefined && former === undefined && tree === (await this.#treeOf(parent))) return parent;
    const parents = parent === undefined ? [] : ["-p", parent];
    const message = lease === undefined ? this.#message : `${this.#message}\n${leaseMark}${JSON.stringify(lease)}\n`;
    return (await this.#git(["commit-tree", tree, ...parents], message)).trim();
  }

  async push(revision: string | undefined, before: string | undefined): Promise<void> {
    const lease = `--force-with-lease=${this.#ref}:${before ?? ""}`;
    await this.#git(["push", "--quiet", lease, remoteName, `${revision ?? ""}:${this.#ref}`]);
  }

  async #fetchCommit(): Promise<Version> {
    const how = ["--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1"];
    await this.#git(["fetch", ...how, remoteName, `+${this.#ref}:${fetched}`]);
    const [revision = "", ...lines] = (await this.#git(["log", "-1", "--format=%H%n%B", fetched])).split("\n");
    const line = lines.findLast((one) => one.startsWith(leaseMark));
    return { revision, lease: parseJson(line?.slice(leaseMark.length) ?? "") };
  }

  /** Without a commit, that of no files. */
  async #treeOf(revision: string | undefined): Promise<string> {
    const asked = revision === undefined ? ["mktree"] : ["rev-parse", `${revision}^{tree}`];
    return (await this.#git(asked)).trim();
  }

  async #git(parameters: readonly string[], input = ""): Promise<string> {
    return await runGit(parameters, this.#environment, input);
  }
}

/** A key without a value is set to true. */
function settingIn(text: string): Setting {
  const end = text.indexOf("\n");
  return end === -1 ? [text, "true"] : [text.slice(0, end), text.slice(end + 1)];
}

function ownSetting(name: string, value: string): Setting {
  return [`remote.${remoteName}.${name}`, value];
}

function settingsOfRemote(found: readonly Setting[], remote: string): Setting[] {
  const named = (name: string) => found.filter(([key]) => key === `remote.${remote}.${name}`);
  return ofRemote.flatMap((name) => named(name).map(([, value]) => ownSetting(name, value)));
}

/** Settings are passed in the environment: other users of the machine could read parameters, and settings may contain a token. */
function ownEnvironment(outside: Environment, folder: string, settings: readonly Setting[]): Environment {
  const numbered = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...outside,
    ...Object.fromEntries(numbered),
    GIT_AUTHOR_EMAIL: signature.email,
    GIT_AUTHOR_NAME: signature.name,
    GIT_COMMITTER_EMAIL: signature.email,
    GIT_COMMITTER_NAME: signature.name,
    GIT_CONFIG_COUNT: String(settings.length),
    GIT_CONFIG_GLOBAL: devNull,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_PARAMETERS: undefined,
    GIT_DIR: folder,
    GIT_TERMINAL_PROMPT: "0",
  };
}

async function runGit(parameters: readonly string[], env: Environment, input = "", cwd?: string): Promise<string> {
  const { promise, resolve: done, reject } = Promise.withResolvers<string>();
  const options = { env, cwd, timeout: timeoutMs, maxBuffer: outputBytesMax, killSignal: "SIGKILL" } as const;
  const child = execFile("git", parameters, options, (error, stdout, stderr) => {
    if (error === null) done(stdout);
    else reject(faultOf(parameters, error, stderr));
  });
  // Git may end before it has read everything; then its exit code says so.
  child.stdin?.on("error", () => undefined).end(input);
  return await promise;
}

function faultOf(
  parameters: readonly string[],
  error: Error & { code?: unknown; killed?: boolean },
  stderr: string,
): Error {
  if (error.code === "ENOENT") return new Error("Git is not installed: install it.");
  const name = parameters.find((one) => /^[a-z]+(?:-[a-z]+)*$/.test(one)) ?? "";
  if (error.killed === true) return new Error(`git ${name} did not answer within ${timeoutMs / 1000} seconds.`);
  // URLs can contain a token.
  const said = stderr
    .replaceAll(/\/\/[^/@\s]*@/g, "//")
    .trim()
    .replaceAll(/\s*\n\s*/g, " ");
  return new Error(asSentence(`git ${name}: ${shortened(visibleText(said), problemLengthMax)}`));
}
