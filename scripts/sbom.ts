// Creates the bill of materials of the shipped files: npm lists all packages in the lock file, and the bundle lists those that it
// contains.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "./bundle.ts";

interface Component {
  readonly "bom-ref": string;
  readonly properties?: readonly { readonly name: string }[];
  readonly [field: string]: unknown;
}

interface CycloneDx {
  readonly metadata: { readonly component: Component; readonly [field: string]: unknown };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly [field: string]: unknown;
}

interface SpdxPackage {
  readonly SPDXID: string;
  readonly name: string;
  readonly versionInfo: string;
  readonly [field: string]: unknown;
}

interface Spdx {
  readonly documentDescribes: readonly [string];
  readonly packages: readonly SpdxPackage[];
  readonly relationships: readonly {
    readonly spdxElementId: string;
    readonly relatedSpdxElement: string;
    readonly relationshipType: string;
  }[];
  readonly [field: string]: unknown;
}

export interface BillOfMaterials {
  readonly cyclonedx: CycloneDx;
  readonly spdx: Spdx;
}

const bytesMax = 64 * 1024 * 1024;

async function npmSbom(format: "cyclonedx" | "spdx"): Promise<unknown> {
  const parameters = ["sbom", "--sbom-format", format, "--sbom-type", "application", "--package-lock-only"];
  const { stdout } = await promisify(execFile)("npm", parameters, { cwd: root, maxBuffer: bytesMax });
  return JSON.parse(stdout);
}

/* * @param folders the folders of the bundled packages, relative to the root
 * @param nodeVersion the version of the shipped Node.js; undefined if none is shipped
 */
export async function billOfMaterials(
  folders: readonly string[],
  nodeVersion: string | undefined,
): Promise<BillOfMaterials> {
  const bundled = new Set(await Promise.all(folders.map(packageId)));
  const [cyclonedx, spdx] = await Promise.all([npmSbom("cyclonedx"), npmSbom("spdx")]);
  return {
    cyclonedx: onlyComponents(cyclonedx as CycloneDx, bundled, nodeVersion),
    spdx: onlyPackages(spdx as Spdx, bundled, nodeVersion),
  };
}

/** `name@version`, as npm identifies a package. */
async function packageId(folder: string): Promise<string> {
  const text = await readFile(join(root, folder, "package.json"), "utf8");
  const { name, version } = JSON.parse(text) as { readonly name: string; readonly version: string };
  return `${name}@${version}`;
}

function onlyComponents(whole: CycloneDx, bundled: ReadonlySet<string>, nodeVersion: string | undefined): CycloneDx {
  const program = { ...whole.metadata.component, name: "wafsync" };
  const own = program["bom-ref"];
  const components: Component[] = whole.components
    .filter((component) => bundled.has(component["bom-ref"]))
    // npm calls these packages optional, because they are needed for the build and not for the installation.
    .map((component) => ({ ...component, scope: "required", properties: [] }));
  requireAll(bundled, new Set(components.map((component) => component["bom-ref"])));
  const dependencies = whole.dependencies
    .filter(({ ref }) => ref === own || bundled.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => bundled.has(one)) }));
  const needed = new Set(dependencies.flatMap(({ dependsOn }) => dependsOn));
  const loose = [...bundled].filter((one) => !needed.has(one));
  const node = nodeVersion === undefined ? [] : [nodeComponent(nodeVersion)];
  return {
    ...whole,
    metadata: { ...whole.metadata, lifecycles: [{ phase: "build" }], component: program },
    components: [...components, ...node],
    dependencies: [
      ...dependencies.map((one) =>
        one.ref === own
          ? { ...one, dependsOn: [...one.dependsOn, ...loose, ...node.map((part) => part["bom-ref"])] }
          : one,
      ),
      ...node.map((part) => ({ ref: part["bom-ref"], dependsOn: [] })),
    ],
  };
}

function nodeComponent(version: string): Component {
  return {
    "bom-ref": `nodejs@${version}`,
    type: "platform",
    name: "Node.js",
    version,
    scope: "required",
    purl: `pkg:generic/nodejs@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    licenses: [{ license: { id: "MIT" } }],
  };
}

function onlyPackages(whole: Spdx, bundled: ReadonlySet<string>, nodeVersion: string | undefined): Spdx {
  const [own] = whole.documentDescribes;
  const packages = whole.packages.filter(
    ({ SPDXID, name, versionInfo }) => SPDXID === own || bundled.has(`${name}@${versionInfo}`),
  );
  requireAll(bundled, new Set(packages.map(({ name, versionInfo }) => `${name}@${versionInfo}`)));
  const ids = new Set(packages.map(({ SPDXID }) => SPDXID));
  const among = whole.relationships
    .filter(({ spdxElementId, relatedSpdxElement }) => ids.has(spdxElementId) && ids.has(relatedSpdxElement))
    .map((relation) => ({ ...relation, relationshipType: "DEPENDENCY_OF" }));
  const described = whole.relationships.filter(({ relationshipType }) => relationshipType === "DESCRIBES");
  const related = new Set(among.map(({ spdxElementId }) => spdxElementId));
  const node = nodeVersion === undefined ? [] : [nodePackage(nodeVersion)];
  const loose = [...packages, ...node].filter(({ SPDXID }) => SPDXID !== own && !related.has(SPDXID));
  return {
    ...whole,
    packages: [...packages, ...node],
    relationships: [
      ...described,
      ...among,
      ...loose.map(({ SPDXID }) => ({
        spdxElementId: SPDXID,
        relatedSpdxElement: own,
        relationshipType: "DEPENDENCY_OF",
      })),
    ],
  };
}

function nodePackage(version: string): SpdxPackage {
  const reference = (referenceCategory: string, referenceType: string, referenceLocator: string) => ({
    referenceCategory,
    referenceType,
    referenceLocator,
  });
  return {
    name: "Node.js",
    SPDXID: `SPDXRef-Package-nodejs-${version}`,
    versionInfo: version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseDeclared: "MIT",
    externalRefs: [
      reference("PACKAGE-MANAGER", "purl", `pkg:generic/nodejs@${version}`),
      reference("SECURITY", "cpe23Type", `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`),
    ],
  };
}

/** @throws Error if a bundled package is not in the lock file, because the bill would not contain it */
function requireAll(bundled: ReadonlySet<string>, listed: ReadonlySet<string>): void {
  const missing = [...bundled].filter((one) => !listed.has(one));
  if (missing.length > 0) throw new Error(`not in the lock file: ${missing.join(", ")}`);
}
