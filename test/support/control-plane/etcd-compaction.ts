// Compacts etcd over its JSON gateway, so that reads from older revisions fail, as they do after some minutes of
// normal operation.

/** Returns the oldest remaining revision. */
export async function compactEtcd(url: string): Promise<number> {
  const status = await post(url, "/v3/maintenance/status", {});
  const revision = (status as { header: { revision: string } }).header.revision;
  await post(url, "/v3/kv/compaction", { revision, physical: true });
  return Number(revision);
}

async function post(url: string, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(new URL(path, url), { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd ${path}: HTTP ${response.status} ${await response.text()}`);
  return response.json();
}
