// `wafsync ui` as a process, and its responses.
import { request } from "undici";
import {
  type FinishedProcess,
  type ProcessOptions,
  type RunningProcess,
  startWafsync,
} from "../processes/wafsync-process.ts";

export interface PageAnswer {
  readonly status: number;
  readonly text: string;
}

export interface ServedPage extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
  readonly process: RunningProcess;
  get(path: string): Promise<PageAnswer>;
  json(path: string): Promise<Readonly<Record<string, unknown>>>;
  end(): Promise<FinishedProcess>;
}

export async function servePage(parameters: readonly string[], options?: ProcessOptions): Promise<ServedPage> {
  const process = startWafsync(["ui", ...parameters, "--bind-address", "127.0.0.1:0"], options);
  await process.hasPrinted(/The page is at \S+ /);
  const url = /The page is at (?<url>\S+)\/ /.exec(process.printed())?.groups?.["url"] ?? "";
  const get = async (path: string): Promise<PageAnswer> => {
    const { statusCode, body } = await request(`${url}${path}`, { reset: true });
    return { status: statusCode, text: await body.text() };
  };
  const end = async (): Promise<FinishedProcess> => {
    process.child.kill("SIGTERM");
    return await process.ended;
  };
  return {
    url,
    process,
    get,
    json: async (path) => JSON.parse((await get(path)).text) as Readonly<Record<string, unknown>>,
    end,
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}

/** The text of the page as a person reads it, without markup. */
export function textOf(html: string): string {
  return html
    .replaceAll(/<\/t[dh]>/g, "\n")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&(?<name>lt|gt|quot|#39|amp);/g, (_, name: string) => entities[name] ?? "");
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
