// Two common methods to keep lists up to date without wafsync: a shell script that runs curl for each call, and a tool that reads
// the state of each entry before it writes, as Terraform's providers do with their resources.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Client } from "undici";
import type { Floor } from "./serial-floor.ts";

/** Runs curl once per address, and returns the milliseconds. @throws Error if curl is not installed or a call fails */
export async function measureCurlMs({ baseUrl, key, addresses }: Floor): Promise<number> {
  const call = `curl --silent --fail --output /dev/null --data "api_key=${key}" --data "ip=$ip" ${baseUrl}/api/blocklist_ip`;
  const startMs = performance.now();
  const child = spawn("sh", ["-c", `while read -r ip; do ${call} || exit 1; done`], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  child.stdin.end(`${addresses.join("\n")}\n`);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error("curl is not installed, or one of its calls failed");
  return performance.now() - startMs;
}

/** Reads the list once per address and posts each missing address, and returns the milliseconds. */
export async function measureRefreshLoopMs({ baseUrl, key, addresses }: Floor): Promise<number> {
  const client = new Client(baseUrl, { pipelining: 1 });
  const startMs = performance.now();
  for (const ip of addresses) {
    const listed = await client.request({ method: "GET", path: `/api/blocklist_ips?api_key=${key}` });
    if (((await listed.body.json()) as readonly string[]).includes(ip)) continue;
    const added = await client.request({
      method: "POST",
      path: "/api/blocklist_ip",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ api_key: key, ip }).toString(),
    });
    await added.body.text();
    if (added.statusCode !== 200) throw new Error(`The simulator answered ${added.statusCode}.`);
  }
  const durationMs = performance.now() - startMs;
  await client.close();
  return durationMs;
}
