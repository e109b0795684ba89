// The least time that serial calls can take: the same requests, one after another on one keep-alive connection, by clients that
// do nothing else.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { Client } from "undici";

export interface Floor {
  readonly baseUrl: string;
  readonly key: string;
  readonly addresses: readonly string[];
}

/** Milliseconds for one POST an address by undici. */
export async function measureUndiciMs({ baseUrl, key, addresses }: Floor): Promise<number> {
  const client = new Client(baseUrl, { pipelining: 1 });
  const startMs = performance.now();
  for (const ip of addresses) {
    const { statusCode, body } = await client.request({
      method: "POST",
      path: "/api/blocklist_ip",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ api_key: key, ip }).toString(),
    });
    await body.text();
    if (statusCode !== 200) throw new Error(`The simulator answered ${statusCode}.`);
  }
  const durationMs = performance.now() - startMs;
  await client.close();
  return durationMs;
}

/** The same by net/http of Go. @param program built from bench/net-http */
export async function measureGoMs(program: string, { baseUrl, key, addresses }: Floor): Promise<number> {
  const child = spawn(program, [baseUrl, key], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(`${addresses.join("\n")}\n`);
  const durationMs = Number(await text(child.stdout));
  if (!(durationMs > 0)) throw new Error("The Go client failed.");
  return durationMs;
}
