// The input of the world's suites: the cluster with its node, and the paths of third-party programs. It is a plain JSON file,
// because different processes start the world and run the suites.
import type { ClusterAccess, ClusterDescription } from "../support/control-plane/cluster-access.ts";
import type { WorldProgram } from "./programs.ts";

export const worldVariable = "WAFSYNC_WORLD";

export interface WorldDescription {
  readonly cluster: ClusterDescription;
  /** The wafsync image on the node, without its tag. */
  readonly imageName: string;
  readonly imageTag: string;
  /** The address of the box that pods can reach. */
  readonly hostAddress: string;
  readonly programs: Readonly<Partial<Record<WorldProgram, string>>>;
  /** The folders of Helm and kustomize for PATH; empty if they are not available. */
  readonly helm?: string;
}

export interface World extends Omit<WorldDescription, "cluster"> {
  readonly cluster: ClusterAccess;
}
