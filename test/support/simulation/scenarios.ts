// Some changes of an installation that are small enough to kill the process at every step.
import type { DeclaredInstance, DeclaredOrigin } from "../../../src/model/declared.ts";
import type { GatheredRule } from "../../../src/model/gathered.ts";
import { approvalAnnotation } from "../../../src/model/resource.ts";
import { aCacheClear, allowing, anInstance, anOrigin, blocking } from "../builders/declare.ts";
import type { SimCluster } from "./sim-cluster.ts";
import type { SimWorld } from "./sim-world.ts";

export interface Scenario {
  readonly name: string;
  /** What is declared at first, which is reached without a crash. */
  readonly rules?: readonly GatheredRule[];
  readonly origin?: DeclaredOrigin;
  /** An alternate origin of the WAF that nobody declares. */
  readonly leftHost?: string;
  readonly guards?: Partial<DeclaredInstance["guards"]>;
  readonly change: (cluster: SimCluster) => void;
  /** A person's reaction to the reported status, if any. */
  readonly answer?: (world: SimWorld) => void;
}

export const shop = "edge/shop";

/** Declares the initial state of a scenario. */
export function begin({ cluster, waf }: SimWorld, { rules = [], origin, leftHost, guards = {} }: Scenario): void {
  cluster.put("instances", anInstance({ meta: { uid: "uid-shop" }, guards }));
  for (const rule of rules) cluster.put("rules", rule);
  if (origin !== undefined) cluster.put("origins", origin);
  if (leftHost !== undefined) waf.origins.set(leftHost, "alternate");
}

const three = ["192.0.2.1", "192.0.2.2", "2001:db8::a"];
const others = ["192.0.2.2", "192.0.2.8", "192.0.2.9"];
const meta = { generation: 2 };
const feed = blocking("feed", three);
const office = allowing("office", ["198.51.100.0/24"]);
const origin = anOrigin("a.example");
const backup = anOrigin("a.example", { type: "Backup", meta });
const deploy = aCacheClear("deploy", { trigger: "commit-1" });
const removeFeed = (cluster: SimCluster): void => cluster.remove("rules", "edge/feed");

export const scenarios: readonly Scenario[] = [
  {
    name: "entries are added",
    change: (cluster) => [feed, office].forEach((rule) => cluster.put("rules", rule)),
  },
  { name: "entries are removed", rules: [feed], change: removeFeed },
  {
    name: "entries are replaced",
    rules: [feed, office],
    change: (cluster) => cluster.put("rules", blocking("feed", others, { meta })),
  },
  {
    name: "a rule is renamed",
    rules: [feed],
    change: (cluster) => {
      cluster.put("rules", blocking("scanners", three));
      removeFeed(cluster);
    },
  },
  { name: "an origin changes its type", origin, change: (cluster) => cluster.put("origins", backup) },
  { name: "the cache is cleared", change: (cluster) => cluster.put("clears", deploy) },
  { name: "removals are approved", rules: [feed], guards: { maxRemovals: 1 }, change: removeFeed, answer: approve },
  { name: "the instance is deleted", rules: [feed], origin, change: (cluster) => cluster.remove("instances", shop) },
];

/** A person approves the removals that the condition names. */
function approve(world: SimWorld): void {
  const declared = world.cluster.now.instances.get(shop);
  if (declared === undefined) return;
  const hash = /approve-removals=([0-9a-f]{12})/.exec(world.status.message(declared.meta, "RemovalsHeld"))?.[1];
  if (hash === undefined || !world.ledger.approve(hash)) return;
  const meta = { ...declared.meta, annotations: { [approvalAnnotation]: hash } };
  world.cluster.put("instances", { ...declared, meta });
}
