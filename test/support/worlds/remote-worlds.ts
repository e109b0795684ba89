// The places of a remote state, with the same faults in each: a branch of a bare repository, and a record of an API server in memory.
import { renameSync } from "node:fs";
import { type ApiRequest, type ApiServer, type ApiResult, localFault } from "../../../src/kube/api-server.ts";
import { ClusterRecordStore } from "../../../src/records/cluster-record-store.ts";
import { FolderRecord } from "../../../src/source/directory/folder-record.ts";
import { RemoteState, type RemoteStateOptions } from "../../../src/source/directory/remote-state.ts";
import { MemoryRecords } from "../../records/memory-records.ts";
import { textLengthMax } from "../../records/test-record-store.ts";
import { type GitProcess, gitProcess, gitRemote, hurriedClock, stateBranch } from "./git-remote.ts";

export interface RemoteProcess extends Omit<GitProcess, "loseAnswer"> {
  /** The answer of the next one is lost. */
  readonly loseAnswer: (to: "read" | "write") => void;
}

export interface RemoteWorld extends AsyncDisposable {
  /** For messages. */
  readonly where: string;
  readonly process: (options?: Partial<RemoteStateOptions>) => Promise<RemoteProcess>;
  readonly files: () => readonly string[];
  readonly contentOf: (path: string) => string | undefined;
  readonly hasLease: () => boolean;
  /** Something that every version changes. */
  readonly version: () => string;
  /** Whether the server answers. */
  readonly isAway: (isAway: boolean) => void;
}

export async function gitWorld(): Promise<RemoteWorld> {
  const remote = await gitRemote();
  const away = `${remote.url}.away`;
  return {
    where: `branch ${stateBranch} of ${remote.url}`,
    process: async (options) => {
      const { loseAnswer, ...started } = await gitProcess(remote, options);
      return { ...started, loseAnswer: (to) => loseAnswer(to === "read" ? "ls-remote" : "push") };
    },
    files: remote.files,
    contentOf: (path) => (remote.files().includes(path) ? remote.git("show", `${stateBranch}:${path}`) : undefined),
    hasLease: () => remote.git("log", "-1", "--format=%B", stateBranch).includes("wafsync-lease"),
    version: () => remote.git("rev-parse", stateBranch),
    isAway: (isAway) => (isAway ? renameSync(remote.url, away) : renameSync(away, remote.url)),
    [Symbol.asyncDispose]: async () => await remote[Symbol.asyncDispose](),
  };
}

const key = { type: "State", namespace: "waf-state", name: "shop" } as const;
let serial = 0;

export async function recordWorld(): Promise<RemoteWorld> {
  const records = new MemoryRecords();
  const unanswered: ApiResult<never> = { ok: false, fault: localFault("TimedOut", "No response within 10000 ms") };
  let isAway = false;
  const head = () => records.objects.get("shop-state");
  const text = (): string => {
    const parts = head()?.spec.parts ?? [];
    return [head(), ...parts.map(({ name }) => records.objects.get(name))].map((one) => one?.spec.text).join("");
  };
  const files = (): ReadonlyMap<string, string> =>
    new Map(
      text()
        .split(/\n(?! )/)
        .slice(1)
        .map((block) => [block.split("\n")[0]!, block.split("\n ").slice(1).join("\n")]),
    );
  return {
    where: "WafRecord waf-state/shop-state",
    process: async (options = {}) => {
      let left = Number.POSITIVE_INFINITY;
      let lost: string | undefined;
      const api = records.open();
      const request = async (sent: ApiRequest): Promise<ApiResult<unknown>> => {
        const kind = sent.method === "GET" ? "read" : "write";
        if (isAway || left < 1) return unanswered;
        if (kind === "write") left -= 1;
        const answer = await api.request(sent);
        if (left >= 1 && lost !== kind) return answer;
        if (lost === kind) lost = undefined;
        return unanswered;
      };
      const notices: string[] = [];
      const store = new ClusterRecordStore({
        api: { ...api, request } as ApiServer,
        ownerOf: () => ({ uid: undefined, retains: true }),
        mayWrite: () => true,
        textLengthMax,
      });
      const opened = await RemoteState.open({
        where: store.placeOf(key),
        open: async () => new FolderRecord(store, key),
        command: "wafsync apply",
        job: `https://ci.example/${(serial += 1)}`,
        clock: hurriedClock(),
        onNotice: (notice) => notices.push(notice),
        ...options,
      });
      if (!opened.ok) throw new Error(opened.problem);
      return {
        state: opened.value,
        killAfter: (writes) => void (left = writes),
        loseAnswer: (to) => void (lost = to),
        notices,
        [Symbol.asyncDispose]: async () => await opened.value.close(),
      };
    },
    files: () => [...files().keys()],
    contentOf: (path) => files().get(path),
    hasLease: () => text().split("\n")[0]!.includes("lease"),
    version: () => head()?.metadata.resourceVersion ?? "",
    isAway: (is) => void (isAway = is),
    [Symbol.asyncDispose]: async () => undefined,
  };
}
