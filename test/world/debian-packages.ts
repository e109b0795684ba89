// Downloads the Debian packages that the world needs and unpacks them into the cache. Nothing is installed on the machine.
import { createHash } from "node:crypto";
import { access, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Report } from "../support/control-plane/program.ts";
import type { Ended } from "../support/control-plane/run-to-end.ts";
import { runToEnd } from "../support/control-plane/run-to-end.ts";

const wanted = [
  "buildah",
  "containerd",
  "containernetworking-plugins",
  "debian-archive-keyring",
  "mmdebstrap",
  "redis-server",
  "runc",
];

export type UnpackResult =
  | { readonly state: "Unpacked"; readonly folder: string }
  | { readonly state: "Failed"; readonly problem: string };

/** Dependencies that are installed on the machine are not downloaded; the requested packages always are. */
export async function unpackDebianPackages(cache: string, report: Report): Promise<UnpackResult> {
  const simulated = await run("apt-get", ["install", "--simulate", "--no-install-recommends", ...wanted]);
  if (simulated.code !== 0) return failed("apt-get knows not all packages (try apt-get update)", simulated);
  const installs = simulated.stdout.split("\n").filter((line) => line.startsWith("Inst "));
  const key = createHash("sha256").update(installs.toSorted().join("\n")).digest("hex").slice(0, 16);
  const folder = join(cache, `world-debian-${key}`);
  if (
    await access(folder).then(
      () => true,
      () => false,
    )
  )
    return { state: "Unpacked", folder };
  report("downloading Debian packages: once");
  const names = installs.map((line) => line.split(" ")[1] ?? "");
  const downloads = join(cache, `world-downloads-${process.pid}`);
  const unfinished = `${folder}.${process.pid}.unfinished`;
  await mkdir(downloads, { recursive: true });
  await mkdir(unfinished, { recursive: true });
  try {
    const downloaded = await run("apt-get", ["download", ...names], downloads);
    if (downloaded.code !== 0) return failed("apt-get download", downloaded);
    const unpacked = await run(
      "sh",
      ["-c", 'for file in *.deb; do dpkg -x "$file" "$1"; done', "sh", unfinished],
      downloads,
    );
    if (unpacked.code !== 0) return failed("dpkg -x", unpacked);
    await rename(unfinished, folder);
    return { state: "Unpacked", folder };
  } finally {
    await rm(downloads, { recursive: true, force: true });
    await rm(unfinished, { recursive: true, force: true });
  }
}

function run(file: string, args: readonly string[], directory?: string): Promise<Ended> {
  const environment = { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  return runToEnd(file, args, { environment, ...(directory === undefined ? {} : { directory }) });
}

function failed(what: string, ended: Ended): UnpackResult {
  return { state: "Failed", problem: `${what}: ${ended.stderr.trim()}` };
}
