// Writes the image's bill of materials. Parameters: esbuild's description of the bundle, and the file to write. Two builds of the
// same commit write the same file, because it contains neither a time nor a random serial number.
import { readFile, writeFile } from "node:fs/promises";
import type { Metafile } from "esbuild";
import { bundledPackages } from "./bundle.ts";
import { billOfMaterials } from "./sbom.ts";

const [metafilePath, target] = process.argv.slice(2);
if (metafilePath === undefined || target === undefined) throw new Error("usage: image-sbom.ts METAFILE TARGET");
const metafile = JSON.parse(await readFile(metafilePath, "utf8")) as Metafile;
// Node.js belongs to the base image.
const { cyclonedx } = await billOfMaterials(bundledPackages(metafile), undefined);
const { serialNumber: _serial, ...document } = cyclonedx;
const { timestamp: _timestamp, ...metadata } = document.metadata;
await writeFile(target, `${JSON.stringify({ ...document, metadata }, undefined, 2)}\n`);
