// Prints the number of worlds in memory after three seeds, without the one that is kept. It is a separate program, because the query for
// objects does not see a test's classes in Jest.
import { queryObjects } from "node:v8";
import { SimWorld } from "./sim-world.ts";
import { simulateSeed } from "./simulate-seed.ts";

const kept = new SimWorld({ seed: 1 });
for (let seed = 0; seed < 3; seed += 1) await simulateSeed(seed);
// Collects all garbage first.
console.log(queryObjects(SimWorld, { format: "count" }) - 1);
await kept.discard();
