// One version of wafsync and one of Node.js, wherever they are written. RELEASE.md says how the version is changed.
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { codeSpans, filesBelow, readPage } from "../support/tidy/markdown-pages.ts";

interface PackageJson {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
}

interface PackageLock {
  readonly version: string;
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

const { version, devDependencies } = JSON.parse(await readPage("package.json")) as PackageJson;

/** An image tag, a tag in kustomize, a Git tag, and a packed chart. */
const written = [
  /\bwafsync:(\d+\.\d+\.\d+[\w.-]*)/g,
  /^\s*newTag: (\S+)$/gm,
  /^\s*targetRevision: v(\d\S*)$/gm,
  /\bwafsync-(\d+\.\d+\.\d+)\.tgz/g,
];

/** `path: version` of every place below deploy/ and docs/, and in the README, that names a version of wafsync. */
async function writtenVersions(): Promise<string[]> {
  const folders = await Promise.all([filesBelow("deploy", ""), filesBelow("docs", ".md")]);
  const files = ["README.md", ...folders.flat().filter((path) => /\.(?:md|ya?ml|tpl|txt)$|Dockerfile$/.test(path))];
  const places = await Promise.all(
    files.map(async (path) => {
      const text = await readPage(path);
      return written.flatMap((pattern) => [...text.matchAll(pattern)].map(([, found]) => `${path}: ${found}`));
    }),
  );
  return places.flat();
}

describe("The version of package.json", () => {
  test("is that of package-lock.json", async () => {
    const lock = JSON.parse(await readPage("package-lock.json")) as PackageLock;
    expect([lock.version, lock.packages[""]?.version]).toStrictEqual([version, version]);
  });

  test("is that of the chart and of the program in it", async () => {
    const chart = parse(await readPage("deploy/helm/wafsync/Chart.yaml")) as { version: string; appVersion: string };
    expect([chart.version, chart.appVersion]).toStrictEqual([version, version]);
  });

  test("is that of every image, kustomization and Git tag in deploy/, docs/ and the README", async () => {
    const places = await writtenVersions();
    const files = new Set(places.map((place) => place.split(": ")[0]));
    for (const path of ["deploy/Dockerfile", "deploy/kustomize/base/kustomization.yaml", "deploy/flux/operator.yaml"]) {
      expect(files).toContain(path);
    }
    expect(places.filter((place) => !place.endsWith(`: ${version}`))).toStrictEqual([]);
  });

  test("is written only in files that RELEASE.md names", async () => {
    const named = codeSpans(await readPage("RELEASE.md"));
    const files = new Set((await writtenVersions()).map((place) => place.split(": ")[0] ?? ""));
    expect([...files].filter((file) => !named.includes(file))).toStrictEqual([]);
  });

  test("is that of the newest section of the changelog, once there is one", async () => {
    const headings = [...(await readPage("CHANGELOG.md")).matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => heading);
    expect(headings[0]).toBe("[Unreleased]");
    const released = headings.slice(1).map((heading) => /^\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/.exec(heading)?.[1]);
    expect(released).not.toContain(undefined);
    expect(released[0] ?? version).toBe(version);
  });
});

describe("The versions of other programs", () => {
  test.each([
    ["docs/guides/helm.md", "Helm", "helm.sh/helm/v4", "test/tools/go.mod"],
    ["docs/installation.md", "Kubernetes", "k8s.io/kubernetes", "test/support/control-plane/go.mod"],
  ])("on %s are those that the tests run: %s", async (page, program, module, pinnedIn) => {
    const version = new RegExp(`${module} v(\\S+)`).exec(await readPage(pinnedIn))?.[1];
    expect((await readPage(page)).replaceAll(/\s+/g, " ")).toContain(`${program} ${version}`);
  });
});

describe("The version of Node.js", () => {
  const node = devDependencies["node"];

  test("in .node-version is that of the devDependency, and so are the types", async () => {
    expect((await readPage(".node-version")).trim()).toBe(node);
    expect(devDependencies["@types/node"]?.split(".")[0]).toBe(node?.split(".")[0]);
  });

  test("is that of the image that builds the program", async () => {
    expect(await readPage("deploy/Dockerfile")).toContain(`=node:${node}-`);
  });

  test("is read from .node-version by every workflow that sets Node.js up", async () => {
    const workflows = await filesBelow(".github/workflows", ".yml");
    expect(workflows.length).toBeGreaterThan(0);
    for (const workflow of workflows) {
      const text = await readPage(workflow);
      expect([workflow, /node-version: /.test(text)]).toStrictEqual([workflow, false]);
      expect([workflow, text.includes("actions/setup-node")]).toStrictEqual([
        workflow,
        /node-version-file: \.node-version/.test(text),
      ]);
    }
  });
});
