// Many WAFs on one port, each with its own responses. The API key of a request selects the WAF.
import { type Answer, json, type ScriptedRequest, ScriptedServer } from "../support/fakes/scripted-server.ts";

/** The responses of one WAF. By default, it responds like an empty, well-behaved WAF. */
export interface HostileAnswers {
  readonly origins?: Answer;
  readonly list?: Answer;
  readonly logs?: Answer;
}

export interface HostileWafs {
  readonly server: ScriptedServer;
  /** Sets the responses of the WAF with this key. */
  play(key: string, answers: HostileAnswers): void;
  /** The number of requests with this key. */
  requests(key: string): number;
}

const origins = json(200, { success: true, domain: "hostile.example", origin: "origin.example" });
const emptyList = json(200, []);
const noLogs = json(200, { _scroll_id: null, hits: { total: { value: 0 }, hits: [] } });
const done = json(200, { success: true, domain: "hostile.example", message: "done" });

export async function startHostileWafs(): Promise<HostileWafs> {
  const answers = new Map<string, HostileAnswers>();
  const requests = new Map<string, number>();
  const server = await ScriptedServer.start();
  server.answers((request, response) => {
    const key = keyIn(request);
    requests.set(key, (requests.get(key) ?? 0) + 1);
    answerTo(request, answers.get(key) ?? {})(request, response);
  });
  return {
    server,
    play: (key, played) => void answers.set(key, played),
    requests: (key) => requests.get(key) ?? 0,
  };
}

function answerTo({ method, url }: ScriptedRequest, answers: HostileAnswers): Answer {
  if (url.startsWith("/api/logs")) return answers.logs ?? noLogs;
  if (method !== "GET") return done;
  return url.startsWith("/api/origins") ? (answers.origins ?? origins) : (answers.list ?? emptyList);
}

/** The API key of a request, which is in the query or in the form. */
function keyIn({ query, body }: ScriptedRequest): string {
  return query["api_key"] ?? new URLSearchParams(body).get("api_key") ?? "";
}
