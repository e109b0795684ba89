// Measures the minimum time that serial calls can take: clients that do nothing else send the same requests, one after another on
// one keep-alive connection.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { Client, type Dispatcher } from "undici";

export interface Floor {
  readonly baseUrl: string;
  readonly key: string;
  readonly addresses: readonly string[];
}

/** The reads of `apply` before its writes, and to verify them. */
const readsBefore = ["/api/origins", "/api/blocklist_ips", "/api/allowlist_ips"];
const readsAfter = ["/api/blocklist_ips", "/api/origins"];

/** Makes the reads and one POST per address with undici, and returns the milliseconds. */
export async function measureUndiciMs({ baseUrl, key, addresses }: Floor): Promise<number> {
  const client = new Client(baseUrl, { pipelining: 1 });
  const call = async (options: Dispatcher.RequestOptions): Promise<void> => {
    const { statusCode, body } = await client.request(options);
    await body.text();
    if (statusCode !== 200) throw new Error(`The simulator answered ${statusCode}.`);
  };
  const query = new URLSearchParams({ api_key: key }).toString();
  const read = async (path: string): Promise<void> => await call({ method: "GET", path: `${path}?${query}` });
  const startMs = performance.now();
  for (const path of readsBefore) await read(path);
  for (const ip of addresses) {
    await call({
      method: "POST",
      path: "/api/blocklist_ip",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ api_key: key, ip }).toString(),
    });
  }
  for (const path of readsAfter) await read(path);
  const durationMs = performance.now() - startMs;
  await client.close();
  return durationMs;
}

/** Does the same with Go's net/http. @param program built from bench/net-http */
export async function measureGoMs(program: string, { baseUrl, key, addresses }: Floor): Promise<number> {
  const child = spawn(program, [baseUrl, key, readsBefore.join(), readsAfter.join()], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(`${addresses.join("\n")}\n`);
  const durationMs = Number(await text(child.stdout));
  if (!(durationMs > 0)) throw new Error("The Go client failed.");
  return durationMs;
}
