// What the pipelines of the guide ask GitHub (through a stand-in for `gh`) and GitLab (through its API) to do, for one repository.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";

interface Issue {
  readonly number: number;
  readonly title: string;
  readonly labels: string;
  body: string;
  isOpen: boolean;
}

export type Forge = Awaited<ReturnType<typeof openForge>>;

/** The expressions for jq of the guide, which needs no jq on this machine. */
const selections: Readonly<Record<string, (found: readonly Readonly<Record<string, unknown>>[]) => unknown>> = {
  ".[0].head.sha": ([first]) => (first?.["head"] as { sha: string } | undefined)?.sha ?? "",
  'map(select(.context == "wafsync"))[0].description': (found) =>
    found.find(({ context }) => context === "wafsync")?.["description"] ?? "",
  ".[0].number // empty": ([first]) => first?.["number"] ?? "",
};

export async function openForge() {
  const state = {
    /** The calls that wrote something. */
    writes: [] as string[],
    comments: [] as string[],
    issues: [] as Issue[],
    /** By commit, the last one first. */
    statuses: new Map<string, { name: string; description: string }[]>(),
    /** The heads of the pull requests that commits of the main branch come from. */
    heads: new Map<string, string>(),
  };
  const open = (label: string): Issue[] => state.issues.filter((one) => one.isOpen && one.labels === label);
  const setStatus = (commit: string, name: string, description: string): void =>
    void state.statuses.set(commit, [{ name, description }, ...(state.statuses.get(commit) ?? [])]);
  const create = (title: string, labels: string, body: string): void =>
    void state.issues.push({ number: state.issues.length + 1, title, labels, body, isOpen: true });
  const change = (number: string, changes: Partial<Pick<Issue, "body" | "isOpen">>): void => {
    const issue = state.issues.find((one) => String(one.number) === number);
    if (issue === undefined) throw new Error(`there is no issue ${number}`);
    Object.assign(issue, changes);
  };

  async function runGh(words: readonly string[], folder: string): Promise<string> {
    const after = (option: string): string => words[words.indexOf(option) + 1] ?? "";
    const body = words.includes("--body-file") ? await readFile(join(folder, after("--body-file")), "utf8") : "";
    const command = words.slice(0, 2).join(" ");
    const [, , third = ""] = words;
    const isRead = command === "issue list" || (words[0] === "api" && words.includes("--jq"));
    if (!isRead) state.writes.push(`gh ${words.join(" ")}`);
    const select = (found: readonly Readonly<Record<string, unknown>>[]): string => {
      const selection = selections[after("--jq")];
      if (selection === undefined) throw new Error(`unknown expression ${after("--jq")}`);
      return String(selection(found));
    };
    if (words[0] === "api") {
      const [, kind = "", commit = "", what = ""] =
        /^repos\/team\/waf\/(commits|statuses)\/([0-9a-f]{40})(?:\/(\w+))?$/.exec(words[1] ?? "") ?? [];
      const fields = new Map(words.flatMap((word, index) => (words[index - 1] === "-f" ? [pair(word)] : [])));
      if (kind === "statuses") {
        setStatus(commit, fields.get("context") ?? "", fields.get("description") ?? "");
        return "";
      }
      if (what === "pulls") return select(state.heads.has(commit) ? [{ head: { sha: state.heads.get(commit) } }] : []);
      if (what === "statuses")
        return select(
          (state.statuses.get(commit) ?? []).map(({ name, description }) => ({ context: name, description })),
        );
    }
    if (command === "pr comment") state.comments.push(body);
    else if (command === "issue list") return select(open(after("--label")).map(({ number }) => ({ number })));
    else if (command === "issue create") create(after("--title"), after("--label"), body);
    else if (command === "issue edit") change(third, { body });
    else if (command === "issue close") change(third, { isOpen: false });
    else if (command !== "label create") throw new Error(`gh ${words.join(" ")} is unknown`);
    return "";
  }

  function answerGitlab(method: string, path: string, query: URLSearchParams, form: URLSearchParams): unknown {
    if (method !== "GET") state.writes.push(`${method} ${path}`);
    const [what = "", id = "", more = ""] = path.replace("repository/commits", "commits").split("/");
    const body = form.get("description") ?? "";
    switch (`${method} ${what} ${more}`.trim()) {
      case "POST merge_requests notes":
        return state.comments.push(form.get("body") ?? "");
      case "POST statuses":
        return setStatus(id, form.get("name") ?? "", body);
      case "GET commits merge_requests":
        return state.heads.has(id) ? [{ sha: state.heads.get(id) }] : [];
      case "GET commits statuses":
        return (state.statuses.get(id) ?? []).filter(({ name }) => name === query.get("name"));
      case "GET issues":
        return open(query.get("labels") ?? "").map(({ number }) => ({ iid: number }));
      case "POST issues":
        return create(form.get("title") ?? "", form.get("labels") ?? "", body);
      case "PUT issues":
        return change(id, form.get("state_event") === "close" ? { isOpen: false } : { body });
      default:
        throw new Error(`${method} ${path} is unknown`);
    }
  }

  const server = createServer((request, response) => {
    void (async () => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://forge");
      const content = await text(request);
      if (pathname === "/gh") return await runGh(content.split("\0").slice(0, -1), String(request.headers["x-folder"]));
      if (request.headers["private-token"] !== "t0ken") throw new Error("no token");
      const path = pathname.replace("/api/v4/projects/7/", "");
      return JSON.stringify(answerGitlab(request.method ?? "", path, searchParams, new URLSearchParams(content)) ?? {});
    })().then(
      (answer) => response.end(answer),
      (error: unknown) => response.writeHead(404).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...state,
    url,
    /** A program `gh` for `/bin/sh`. */
    gh: `#!/bin/sh\nprintf '%s\\0' "$@" | curl --silent --fail-with-body --header "X-Folder: $PWD" --data-binary @- ${url}/gh\n`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

function pair(field: string): [string, string] {
  const [name = "", ...value] = field.split("=");
  return [name, value.join("=")];
}
