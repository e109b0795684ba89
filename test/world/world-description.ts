// What the suites of the world are given: the cluster with its node, and where the programs of others are. It is a file of
// plain JSON, because the process that starts the world is not the one that runs the suites.
import type { ClusterAccess, ClusterDescription } from "../support/control-plane/cluster-access.ts";
import type { WorldProgram } from "./programs.ts";

export const worldVariable = "WAFSYNC_WORLD";

export interface WorldDescription {
  readonly cluster: ClusterDescription;
  /** The image of wafsync that the node has, without its tag. */
  readonly imageName: string;
  readonly imageTag: string;
  readonly imageLabels: Readonly<Record<string, string>>;
  /** The address of the box that pods reach. */
  readonly hostAddress: string;
  readonly programs: Readonly<Partial<Record<WorldProgram, string>>>;
  /** Helm and kustomize, as folders for PATH; empty if they could not be had. */
  readonly helm?: string;
}

export interface World extends Omit<WorldDescription, "cluster"> {
  readonly cluster: ClusterAccess;
}
