// Metrics of automatic blocks. No label contains an address.
import type { Registry } from "prom-client";
import { InstanceSeries } from "./metrics-instances.ts";

export interface AutoBlockFigures {
  /** Clients that are listed now. */
  readonly listed: number;
  /** How often a client was left out because of `spec.maxEntries`. */
  readonly leftOut: number;
  /** Matching rows. */
  readonly rows: number;
}

/** WafAutoBlocks are identified by `namespace/name`. */
export interface AutoBlockMetrics {
  /** Creates the series of a WafAutoBlock if they do not exist. */
  autoBlockSeen(block: string, figures: AutoBlockFigures): void;
  /** Removes all series of a WafAutoBlock that was deleted. */
  forgetAutoBlock(block: string): void;
}

export function makeAutoBlockMetrics(registry: Registry): AutoBlockMetrics {
  const blocks = new InstanceSeries(registry, "waf_auto_block");
  const gauge = (name: string, help: string) => blocks.gauge({ name, help, labelNames: [], initial: [{}] });
  const listed = gauge("wafsync_auto_block_clients", "Clients that the WafAutoBlock blocks, or suggests to block.");
  const leftOut = gauge(
    "wafsync_auto_block_left_out",
    "How often a client reached the threshold without being listed, because of spec.maxEntries.",
  );
  const rows = gauge("wafsync_auto_block_matched_rows", "Rows of the log that matched since the object was created.");
  return {
    autoBlockSeen(block, figures) {
      blocks.add(block);
      listed.set(block, {}, figures.listed);
      leftOut.set(block, {}, figures.leftOut);
      rows.set(block, {}, figures.rows);
    },
    forgetAutoBlock: (block) => blocks.forget(block),
  };
}
