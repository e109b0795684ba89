// The archive with etcd, kube-apiserver and kubectl that the Kubernetes project releases for tests, pinned by
// version and checksum. It has no kube-controller-manager.
import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Report } from "./program.ts";
import { runToEnd } from "./run-to-end.ts";

export type ArchiveResult =
  | { readonly state: "Unpacked"; readonly directory: string }
  | { readonly state: "Failed"; readonly problem: string };

const version = "v1.36.2";
const releases = "https://github.com/kubernetes-sigs/controller-tools/releases/download";
const downloadMsMax = 180_000;

/** SHA-512 by platform, from the project's envtest-releases.yaml. */
const checksums: Readonly<Record<string, string>> = {
  "linux-amd64":
    "ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08",
  "linux-arm64":
    "2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac",
  "darwin-amd64":
    "b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbef8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514",
  "darwin-arm64":
    "9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce",
};

/** The folder of the unpacked archive, which contains the programs. */
export function archiveDirectory(cache: string): string {
  return join(cache, `envtest-${version}-${platformName()}`, "controller-tools", "envtest");
}

/** Downloads the archive into the cache unless it is already cached. Never rejects: a missing network is an expected failure. */
export async function unpackArchive(cache: string, report: Report): Promise<ArchiveResult> {
  const directory = archiveDirectory(cache);
  const present = await access(join(directory, "kube-apiserver")).then(
    () => true,
    () => false,
  );
  if (present) return { state: "Unpacked", directory };
  const expected = checksums[platformName()];
  if (expected === undefined) return { state: "Failed", problem: `no archive is pinned for ${platformName()}` };
  const name = `envtest-${version}-${platformName()}`;
  const url = `${releases}/envtest-${version}/${name}.tar.gz`;
  report(`downloading ${url}`);
  const content = await download(url).catch((error: unknown) => String(error));
  if (typeof content === "string") return { state: "Failed", problem: `${url}: ${content}` };
  const actual = createHash("sha512").update(content).digest("hex");
  if (actual !== expected) return { state: "Failed", problem: `${url} has SHA-512 ${actual}, not the pinned one` };
  return unpack(content, cache, name);
}

async function unpack(content: Uint8Array, cache: string, name: string): Promise<ArchiveResult> {
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(join(cache, `${name}.unfinished-`));
  try {
    const archive = join(unfinished, "archive.tar.gz");
    await writeFile(archive, content);
    const ended = await runToEnd("tar", ["-xzf", archive, "-C", unfinished]);
    if (ended.code !== 0) return { state: "Failed", problem: `tar: ${ended.stderr.trim()}` };
    await rm(archive);
    // Another process may have been faster. Its copy has the same checksum.
    await rename(unfinished, join(cache, name)).catch(() => undefined);
    return { state: "Unpacked", directory: archiveDirectory(cache) };
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function download(url: string): Promise<Uint8Array | string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(downloadMsMax) });
  return response.ok ? new Uint8Array(await response.arrayBuffer()) : `HTTP ${response.status}`;
}

function platformName(): string {
  return `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
}
