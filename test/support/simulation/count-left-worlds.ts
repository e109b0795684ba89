// Prints how many worlds are left after three seeds, besides one that is kept. A program of its own: inside Jest, the query for
// objects does not see the classes of a test.
import { queryObjects } from "node:v8";
import { SimWorld } from "./sim-world.ts";
import { simulateSeed } from "./simulate-seed.ts";

const kept = new SimWorld({ seed: 1 });
for (let seed = 0; seed < 3; seed += 1) await simulateSeed(seed);
// Collects all garbage first.
console.log(queryObjects(SimWorld, { format: "count" }) - 1);
await kept.discard();
