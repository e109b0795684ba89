// WAFs with empty lists and hostile logs: the logs of keys that start with `endless` never end; all other logs never arrive.
import { keyIn } from "./hostile-wafs.ts";
import { json, startScriptedWaf } from "./scripted-waf.ts";
import type { Script, ScriptedWaf } from "./scripted-waf.ts";

export const rowsPerPage = 10_000;
const totalRows = 1_000_000_000;

export interface EndlessLogs extends Pick<ScriptedWaf, "baseUrl" | "close"> {
  /** The number of pages that were requested with this key. */
  pages(key: string): number;
}

export async function startEndlessLogs(): Promise<EndlessLogs> {
  const pages = new Map<string, number>();
  const origins = json(200, { success: true, domain: "endless.example", origin: "origin.example" });
  const list = json(200, []);
  const script: Script = (request, response, socket) => {
    const key = keyIn(request);
    if (request.url.startsWith("/api/origins")) return origins(request, response, socket);
    if (!request.url.startsWith("/api/logs")) return list(request, response, socket);
    const page = pages.get(key) ?? 0;
    pages.set(key, page + 1);
    if (key.startsWith("endless")) return response.end(pageText(page));
  };
  const server = await startScriptedWaf(script);
  return {
    baseUrl: server.baseUrl,
    close: async () => await server.close(),
    pages: (key) => pages.get(key) ?? 0,
  };
}

/** Every row and every scroll ID is new. */
function pageText(page: number): string {
  const timestamp = new Date().toISOString();
  const rows = Array.from(
    { length: rowsPerPage },
    (_, index) =>
      `{"timestamp":"${timestamp}","client_ip":"192.0.2.1","http_method":"GET","request_path":"/${page}/${index}","http_status":403,` +
      '"response_size":150,"referrer":null,"user_agent":"curl","block_reason":"Bad Bot 1002","country":"NL","cache_hit":false}',
  );
  return `{"_scroll_id":"scroll-${page}","hits":{"total":{"value":${totalRows}},"hits":[${rows.join(",")}]}}`;
}
