// Which parts of the bundle each command loads, because they determine its start-up time and memory. Unlike milliseconds, bytes
// and packages are the same on every machine and under any load.
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { builtBundle } from "../support/processes/built-program.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory, type ScratchDirectory } from "../support/worlds/scratch-directory.ts";
import { ruleDocument, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";

/** Loaded before the program: at the end, it records the URL of every module that was loaded. */
function recorderOf(file: string): string {
  const script = `
    import { writeFileSync } from "node:fs";
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    process.on("exit", () => writeFileSync(${JSON.stringify(file)}, JSON.stringify(loaded)));`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}

interface Metafile {
  readonly outputs: Readonly<
    Record<string, { readonly bytes: number; readonly inputs: Readonly<Record<string, unknown>> }>
  >;
}

const base = ["commander"];
const kubeClient = "src/kube/credentials.ts";
const directory = [...base, "ipaddr.js", "yaml", "zod"];

describe("the bundle", () => {
  const bundle = builtBundle();
  let scratch: ScratchDirectory;
  let folder: WafFolder;
  let outputs: Metafile["outputs"];

  beforeAll(async () => {
    scratch = await scratchDirectory();
    folder = await wafFolder();
    await folder.files.write("rule.yaml", ruleDocument("scanners", { addresses: ["203.0.113.9"] }));
    ({ outputs } = JSON.parse(await readFile(bundle().metafile, "utf8")) as Metafile);
  });

  afterAll(async () => {
    await folder[Symbol.asyncDispose]();
    await scratch[Symbol.asyncDispose]();
  });

  async function loadedBy(parameters: readonly string[]) {
    const record = join(scratch.path, "loaded.json");
    const { program } = bundle();
    const { code } = await runWafsync(parameters, { program, nodeParameters: [recorderOf(record)] });
    const urls = JSON.parse(await readFile(record, "utf8")) as string[];
    const names = new Set(urls.filter((url) => url.startsWith("file:")).map((url) => basename(url)));
    const loaded = Object.entries(outputs).filter(([path]) => names.has(basename(path)));
    const inputs = loaded.flatMap(([, output]) => Object.keys(output.inputs));
    const packages = inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/u.exec(path)?.[1] ?? []);
    return {
      code,
      /** The npm packages with code in the loaded files, in order. */
      packages: [...new Set(packages)].sort(),
      /** The size of the program and its chunks. */
      kibibytes: loaded.reduce((total, [, { bytes }]) => total + bytes, 0) / 1024,
      files: loaded.length,
      /** The source files of the program. */
      sources: inputs.filter((path) => path.startsWith("src/")).sort(),
      /** Modules of Node.js. */
      builtins: urls.filter((url) => url.startsWith("node:")),
    };
  }

  test.each(["--version", "--help", "plan --help", "operator --help", "no-such-command"])(
    "loads only the command line parser for `wafsync %s`",
    async (line) => {
      const { packages, kibibytes, files } = await loadedBy(line.split(" "));
      expect(packages).toStrictEqual(base);
      expect(kibibytes).toBeLessThan(102);
      // The formats of log rows are choices of an option.
      expect(files).toBeLessThan(13);
    },
  );

  test("loads for `plan` neither the Kubernetes client, nor HTTP/2 and TLS for a WAF without them", async () => {
    const { code, packages, kibibytes, files, builtins } = await loadedBy(["plan", ...folder.from]);
    expect(code).toBe(1);
    expect(packages).toStrictEqual(directory);
    // These bytes contain the schema, the reasons and the decisions of every kind.
    expect(kibibytes).toBeLessThan(1475);
    // Each command that shares a part of this code splits it into more files, with the same number of bytes.
    expect(files).toBeLessThan(80);
    expect(builtins).toContain("node:net");
    expect(builtins.filter((name) => name === "node:http2" || name === "node:tls")).toStrictEqual([]);
  });

  test("loads the Kubernetes client only for commands on a cluster", async () => {
    const report = await loadedBy(["report", ...folder.from, "--out", join(scratch.path, "report.html")]);
    expect(report.code).toBe(0);
    expect(report.sources).not.toContain(kubeClient);
    const cluster = await loadedBy(["status", "--kubeconfig", "missing.yaml"]);
    expect(cluster).toMatchObject({ code: 2, sources: expect.arrayContaining([kubeClient]) });
  });
});
