// Some changes of an installation that are small enough to kill the process at every step.
import type { DeclaredInstance } from "../../../src/model/declared.ts";
import type { GatheredRule } from "../../../src/model/gathered.ts";
import { approvalAnnotation } from "../../../src/model/resource.ts";
import { aCacheClear, allowing, anInstance, anOrigin, blocking } from "../builders/declare.ts";
import type { SimWorld } from "./sim-world.ts";

export interface Scenario {
  readonly name: string;
  /** The initial state, which is reached without a crash. */
  readonly before: (world: SimWorld) => void;
  readonly change: (world: SimWorld) => void;
  /** A person's reaction to the reported status, if any. */
  readonly answer?: (world: SimWorld) => void;
}

export const shop = "edge/shop";

function instance(world: SimWorld, change: Partial<DeclaredInstance> = {}): void {
  world.cluster.put("instances", { ...anInstance({ meta: { uid: "uid-shop" } }), ...change });
}

function rules(world: SimWorld, ...some: readonly GatheredRule[]): void {
  for (const rule of some) world.cluster.put("rules", rule);
}

const three = ["192.0.2.1", "192.0.2.2", "2001:db8::a"];
const others = ["192.0.2.2", "192.0.2.8", "192.0.2.9"];
const generation = { generation: 2 };

export const scenarios: readonly Scenario[] = [
  {
    name: "entries are added",
    before: (world) => instance(world),
    change: (world) => rules(world, blocking("feed", three), allowing("office", ["198.51.100.0/24"])),
  },
  {
    name: "entries are removed",
    before: (world) => {
      instance(world);
      rules(world, blocking("feed", three));
    },
    change: (world) => world.cluster.remove("rules", "edge/feed"),
  },
  {
    name: "entries are replaced",
    before: (world) => {
      instance(world);
      rules(world, blocking("feed", three), allowing("office", ["198.51.100.0/24"]));
    },
    change: (world) => rules(world, blocking("feed", others, { meta: generation })),
  },
  {
    name: "a rule is renamed",
    before: (world) => {
      instance(world);
      rules(world, blocking("feed", three));
    },
    change: (world) => {
      rules(world, blocking("scanners", three));
      world.cluster.remove("rules", "edge/feed");
    },
  },
  {
    name: "an origin changes its type",
    before: (world) => {
      instance(world);
      world.cluster.put("origins", anOrigin("a.example"));
    },
    change: (world) => world.cluster.put("origins", anOrigin("a.example", { type: "Backup", meta: generation })),
  },
  {
    name: "the cache is cleared",
    before: (world) => instance(world),
    change: (world) => world.cluster.put("clears", aCacheClear("deploy", { trigger: "commit-1" })),
  },
  {
    name: "removals are approved",
    before: (world) => {
      instance(world, { guards: { ...anInstance().guards, maxRemovals: 1 } });
      rules(world, blocking("feed", three));
    },
    change: (world) => world.cluster.remove("rules", "edge/feed"),
    answer: approve,
  },
  {
    name: "the instance is deleted",
    before: (world) => {
      instance(world);
      rules(world, blocking("feed", three));
      world.cluster.put("origins", anOrigin("a.example"));
    },
    change: (world) => world.cluster.remove("instances", shop),
  },
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
