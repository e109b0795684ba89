// Writes the bill of materials that the image carries. Takes esbuild's description of the bundle, and the file to write. Two
// builds of one commit give the same file: it has neither a time nor a random serial number.
import { readFile, writeFile } from "node:fs/promises";
import type { Metafile } from "esbuild";
import { bundledPackages } from "./bundle.ts";
import { billOfMaterials } from "./sbom.ts";

const [metafilePath, target] = process.argv.slice(2);
if (metafilePath === undefined || target === undefined) throw new Error("usage: image-sbom.ts METAFILE TARGET");
const metafile = JSON.parse(await readFile(metafilePath, "utf8")) as Metafile;
// Node.js is the base image's.
const { cyclonedx } = await billOfMaterials(bundledPackages(metafile), undefined);
const { serialNumber: _serial, ...document } = cyclonedx;
const { timestamp: _timestamp, ...metadata } = document.metadata;
await writeFile(target, `${JSON.stringify({ ...document, metadata }, undefined, 2)}\n`);
