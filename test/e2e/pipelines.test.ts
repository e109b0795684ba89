// The pipelines of the guide, as it shows them: their steps run on fresh clones of a bare repository, against the simulator.
// Long: `npm run test:deploy` runs it.
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { startSimulator } from "../../src/simulator/start-simulator.ts";
import { runToEnd } from "../support/control-plane/run-to-end.ts";
import { compileCache, wafsyncProgram } from "../support/processes/wafsync-process.ts";
import { type Forge, openForge } from "./forge.ts";
import { gitRemote } from "../support/worlds/git-remote.ts";
import { instanceDocument, ruleDocument, testDomain, testKey } from "../support/worlds/waf-folder.ts";

type Variables = Readonly<Record<string, string>>;

/** A job on a fresh clone. */
interface Job {
  readonly event: "PullRequest" | "Main" | "Schedule";
  readonly commit: string;
  /** The commit of the main branch. */
  readonly main: string;
  /** The plan that a person has entered. */
  readonly plan: string;
}

/** What the pipeline runs for a job: scripts with their variables, one after another until one fails. */
type Pipeline = (job: Job, forge: Forge) => readonly { readonly script: string; readonly variables: Variables }[];

async function blockOf(heading: string): Promise<unknown> {
  const page = await readFile(join(import.meta.dirname, "../../docs/guides/pipelines.md"), "utf8");
  const section = page.split("## Plan and apply a folder\n")[1]?.split(`### ${heading}\n`)[1] ?? "";
  return parse(/^```yaml\n(?<yaml>.*?)^```$/ms.exec(section)?.groups?.["yaml"] ?? "");
}

/** Conditions of both systems: comparisons, all of which must be true. @param valueOf a variable of the system */
function isMet(condition: string, valueOf: (name: string) => string): boolean {
  return condition.split(" && ").every((comparison) => {
    const [, left = "", operator, right = ""] = /^(\S+) (==|!=) (\S+)$/.exec(comparison) ?? [];
    const value = (side: string): string => /^["'](.*)["']$/.exec(side)?.[1] ?? valueOf(side);
    if (operator === undefined) throw new Error(`unknown condition: ${comparison}`);
    return (value(left) === value(right)) === (operator === "==");
  });
}

interface Workflow {
  readonly env: Variables;
  readonly jobs: {
    readonly waf: {
      readonly steps: readonly { readonly if?: string; readonly env?: Variables; readonly run?: string }[];
    };
  };
}

const workflow = (await blockOf("GitHub Actions")) as Workflow;

const github: Pipeline = ({ event, commit, plan }) => {
  const contexts: Variables = {
    "github.event_name": {
      PullRequest: "pull_request",
      Main: plan === "" ? "push" : "workflow_dispatch",
      Schedule: "schedule",
    }[event],
    "github.ref": event === "PullRequest" ? "refs/pull/12/merge" : "refs/heads/main",
    "github.token": "t0ken",
    "github.event.pull_request.number": "12",
    "github.event.pull_request.head.sha": commit,
    "inputs.plan": plan,
    "secrets.WAFSYNC_API_KEY": testKey,
  };
  const valueOf = (name: string): string => {
    const value = contexts[name];
    if (value === undefined) throw new Error(`unknown context: ${name}`);
    return value;
  };
  const filled = (variables: Variables = {}): Variables =>
    Object.fromEntries(
      Object.entries(variables).map(([name, text]) => [
        name,
        text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, context: string) => valueOf(context)),
      ]),
    );
  const own = {
    GITHUB_REPOSITORY: "team/waf",
    GITHUB_SHA: commit,
    GITHUB_BASE_REF: event === "PullRequest" ? "main" : "",
    GITHUB_STEP_SUMMARY: "summary.md",
  };
  const steps = workflow.jobs.waf.steps.filter((step) => step.if === undefined || isMet(step.if, valueOf));
  return steps.flatMap(({ run, env }) =>
    run === undefined ? [] : [{ script: run, variables: { ...own, ...filled(workflow.env), ...filled(env) } }],
  );
};

interface GitlabJob {
  readonly rules: readonly { readonly if: string }[];
  readonly script: readonly string[];
}

const configuration = (await blockOf("GitLab")) as Readonly<Record<"plan" | "apply" | "drift", GitlabJob>> & {
  readonly variables: Variables;
  readonly ".wafsync": { readonly before_script: readonly string[] };
};

const gitlab: Pipeline = ({ event, commit, main, plan }, forge) => {
  const variables: Variables = {
    ...configuration.variables,
    CI_API_V4_URL: `${forge.url}/api/v4`,
    CI_PROJECT_ID: "7",
    CI_COMMIT_SHA: commit,
    CI_DEFAULT_BRANCH: "main",
    CI_PIPELINE_SOURCE: { PullRequest: "merge_request_event", Main: "push", Schedule: "schedule" }[event],
    ...(event === "PullRequest"
      ? { CI_MERGE_REQUEST_IID: "12", CI_MERGE_REQUEST_DIFF_BASE_SHA: main }
      : { CI_COMMIT_BRANCH: "main" }),
    GITLAB_TOKEN: "t0ken",
    WAFSYNC_API_KEY: testKey,
    PLAN: plan,
  };
  const { plan: planning, apply, drift, ".wafsync": common } = configuration;
  const valueOf = (name: string): string => variables[name.slice(1)] ?? "";
  const jobs = [planning, apply, drift].filter(({ rules }) => rules.some((rule) => isMet(rule.if, valueOf)));
  return jobs.map(({ script }) => ({ script: [...common.before_script, ...script].join("\n"), variables }));
};

/** A team with a repository, its pipeline and its WAF. */
async function openTeam(pipeline: Pipeline) {
  const simulator = await startSimulator({ keys: [{ key: testKey, domain: testDomain }] });
  const [remote, forge] = [await gitRemote(), await openForge()];
  const clone = join(remote.folder, "developer");
  let jobs = 0;

  function git(...parameters: readonly string[]): string {
    const author = ["-c", "user.name=Ann", "-c", "user.email=ann@shop.example", "-c", "commit.gpgsign=false"];
    return execFileSync("git", [...author, ...parameters], { cwd: clone, encoding: "utf8", stdio: "pipe" }).trim();
  }

  function commit(branch: string): void {
    git("add", "--all");
    git("commit", "--quiet", "--message", "change");
    git("push", "--quiet", "--force", "origin", `HEAD:${branch}`);
  }

  async function runJob(event: Job["event"], plan = "") {
    const machine = join(remote.folder, `machine-${(jobs += 1)}`);
    const tools: Variables = {
      wafsync: `#!/bin/sh\nexec "${process.execPath}" "${wafsyncProgram}" "$@" --allow-insecure-http\n`,
      gh: forge.gh,
      npm: `#!/bin/sh\necho "npm $*"\n`,
    };
    await mkdir(join(machine, "bin"), { recursive: true });
    for (const [name, script] of Object.entries(tools)) {
      await writeFile(join(machine, "bin", name), script, { mode: 0o755 });
    }
    const main = git("rev-parse", "main");
    const job = { event, commit: event === "PullRequest" ? git("rev-parse", "change") : main, main, plan };
    const folder = join(machine, "clone");
    execFileSync("git", ["clone", "--quiet", remote.url, folder]);
    execFileSync("git", ["-C", folder, "checkout", "--quiet", "--detach", job.commit]);
    const environment = {
      HOME: machine,
      NODE_COMPILE_CACHE: compileCache,
      TMPDIR: machine,
      XDG_RUNTIME_DIR: machine,
      PATH: [join(machine, "bin"), join(process.execPath, ".."), "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
    };
    let printed = "";
    let code: number | null = 0;
    for (const { script, variables } of pipeline(job, forge)) {
      const env = { ...environment, ...variables, WAF_URL: simulator.baseUrl };
      const bash = ["-e", "-o", "pipefail", "-c", script];
      const ended = await runToEnd("bash", bash, { directory: folder, environment: env });
      printed += ended.stdout + ended.stderr;
      ({ code } = ended);
      if (code !== 0) break;
    }
    return { code, printed: printed + (await readFile(join(folder, "summary.md"), "utf8").catch(() => "")) };
  }

  await mkdir(clone);
  remote.git("symbolic-ref", "HEAD", "refs/heads/main");
  git("init", "--quiet", "--initial-branch=main");
  git("remote", "add", "origin", remote.url);
  await writeFile(join(clone, "README.md"), "The WAF of the shop.\n");
  commit("main");

  const team = {
    simulator,
    forge,
    /** Of the instance that the next pull request declares. */
    baseUrl: simulator.baseUrl,
    get blocked(): readonly string[] {
      return simulator.waf(testKey).blocklist;
    },
    /** A pull request that blocks these addresses. */
    propose: async (...addresses: readonly string[]) => {
      git("checkout", "--quiet", "-B", "change", "main");
      await mkdir(join(clone, "waf"), { recursive: true });
      await writeFile(join(clone, "waf/main.yaml"), instanceDocument(team.baseUrl));
      await writeFile(join(clone, "waf/rule.yaml"), ruleDocument("hosts", { addresses }));
      commit("change");
      return { head: git("rev-parse", "change"), job: await runJob("PullRequest") };
    },
    /** Merges the pull request into the main branch, and runs its job. */
    merge: async (head: string) => {
      git("checkout", "--quiet", "main");
      git("merge", "--quiet", "--no-ff", "-m", "merge", head);
      git("push", "--quiet", "origin", "main");
      forge.heads.set(git("rev-parse", "main"), head);
      return await runJob("Main");
    },
    onMain: async (plan: string) => await runJob("Main", plan),
    nightly: async () => await runJob("Schedule"),
    async [Symbol.asyncDispose]() {
      await simulator.close();
      await forge[Symbol.asyncDispose]();
      await remote[Symbol.asyncDispose]();
    },
  };
  return team;
}

function hashIn(text = ""): string {
  return /Plan hash: ([0-9a-f]{12})/.exec(text)?.[1] ?? "";
}

describe.each([
  { system: "GitHub", pipeline: github },
  { system: "GitLab", pipeline: gitlab },
])("The pipeline for $system in the guide", ({ system, pipeline }) => {
  test("shows what a change does to the WAF, applies what was reviewed, and nothing else", async () => {
    await using team = await openTeam(pipeline);
    const { forge } = team;
    const first = await team.propose("192.0.2.1", "192.0.2.2");
    expect(first.job).toMatchObject({ code: 0, printed: expect.stringContaining("npm install --global https://") });
    expect(forge.comments.at(-1)).toContain("**Plan: 2 to add, 0 to remove, one call each.**");
    expect(forge.statuses.get(first.head)).toMatchObject([
      { name: "wafsync", description: hashIn(forge.comments.at(-1)) },
    ]);
    expect(team.blocked).toStrictEqual([]);
    expect(await team.merge(first.head)).toMatchObject({
      code: 0,
      printed: expect.stringContaining("Added 2 entries"),
    });
    expect(team.blocked).toStrictEqual(["192.0.2.1", "192.0.2.2"]);

    // A pull request that unblocks one address, on a fresh runner.
    const second = await team.propose("192.0.2.1");
    expect(second.job.code).toBe(0);
    expect(forge.comments.at(-1)).toContain("**Plan: 0 to add, 1 to remove, one call each.**");
    expect(await team.merge(second.head)).toMatchObject({ code: 0 });
    expect(team.blocked).toStrictEqual(["192.0.2.1"]);

    // Another writer changes the WAF between the review and the merge.
    const third = await team.propose("192.0.2.1", "192.0.2.3");
    expect(third.job.code).toBe(0);
    team.simulator.waf(testKey).remove("blocklist", ["192.0.2.1"]);
    const refused = await team.merge(third.head);
    expect(refused).toMatchObject({ code: 1, printed: expect.stringContaining("Nothing was changed") });
    expect(team.blocked).toStrictEqual([]);
    // The plan of the next change marks what is left of this one.
    const fourth = await team.propose("192.0.2.1", "192.0.2.3", "192.0.2.4");
    expect(fourth.job.code).toBe(0);
    expect(forge.comments.at(-1)).toContain("3 to add");
    expect(forge.comments.at(-1)).toContain("2 of these are drift.");
    expect(await team.onMain(hashIn(refused.printed))).toMatchObject({ code: 0 });
    expect(team.blocked).toStrictEqual(["192.0.2.1", "192.0.2.3"]);
  });

  test("fails on a change with errors, which gets no hash, and sends the key to no other server", async () => {
    await using team = await openTeam(pipeline);
    const faulty = await team.propose("192.0.2.1/24");
    expect(faulty.job.code).toBe(1);
    expect(team.forge.comments.at(-1)).toContain("has host bits");
    expect(team.forge.statuses.size).toBe(0);
    expect((await team.merge(faulty.head)).code).not.toBe(0);
    team.baseUrl = "http://127.0.0.1:9";
    expect((await team.propose("192.0.2.1")).job.code).toBe(1);
    expect(team.forge.comments.at(-1)).toContain("**No plan: the WAF cannot be reconciled.**");
    expect(team.forge.comments.at(-1)).toMatch(/base URL/i);
    expect(team.simulator.requests().every(({ method }) => method === "GET")).toBe(true);
  });

  test("opens one issue while the WAF differs from the folder, and closes it", async () => {
    await using team = await openTeam(pipeline);
    const { issues } = team.forge;
    const { head } = await team.propose("192.0.2.1");
    expect((await team.merge(head)).code).toBe(0);
    expect([(await team.nightly()).code, issues]).toStrictEqual([0, []]);
    team.simulator.waf(testKey).remove("blocklist", ["192.0.2.1"]);
    for (let night = 1; night <= 2; night += 1) {
      expect((await team.nightly()).code).toBe(0);
      expect(issues).toMatchObject([
        { number: 1, isOpen: true, labels: "waf-drift", title: "The WAF differs from the folder" },
      ]);
      expect(issues[0]?.body).toContain("1 to add, 0 to remove, one call each. 1 of these is drift.");
    }
    // An error says nothing about drift.
    team.simulator.replaceKey(testKey, "another-key-0123456789");
    const writes = team.forge.writes.length;
    expect((await team.nightly()).code).toBe(2);
    expect(team.forge.writes).toHaveLength(writes);
    team.simulator.replaceKey("another-key-0123456789", testKey);
    expect((await team.onMain(hashIn(issues[0]?.body))).code).toBe(0);
    expect((await team.nightly()).code).toBe(0);
    expect(issues).toMatchObject([{ isOpen: false }]);
    expect(system === "GitHub" || team.forge.writes.includes("PUT issues/1")).toBe(true);
  });
});
