// The least time that serial calls can take: the same requests on one keep-alive connection by bare undici.
import { Client } from "undici";

/** Milliseconds for one POST an address, one after another. */
export async function measureFloorMs(baseUrl: string, key: string, addresses: readonly string[]): Promise<number> {
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
