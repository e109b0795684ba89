// Starts a suite that runs in the world.
import { readFile } from "node:fs/promises";
import { describe } from "@jest/globals";
import { connectToCluster } from "../support/control-plane/cluster-access.ts";
import type { World, WorldDescription } from "./world-description.ts";
import { worldVariable } from "./world-description.ts";

/** Must be awaited at the top of a file. Fails outside of `npm run test:world`, so that a suite never passes without running. */
export async function describeInWorld(title: string, body: (world: World) => void): Promise<void> {
  const file = process.env[worldVariable];
  if (file === undefined || file === "")
    throw new Error(`${title}: run \`npm run test:world\`, which starts the world`);
  const description = JSON.parse(await readFile(file, "utf8")) as WorldDescription;
  const world: World = { ...description, cluster: await connectToCluster(description.cluster) };
  describe(title, () => {
    body(world);
  });
}
