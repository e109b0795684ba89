// The options of the desired state from a cluster, and what it reports.
import type { Clock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ListWatchProblem } from "../../kube/list-watch.ts";
import type { ObjectChange } from "../../kube/reflector.ts";
import type { ObjectName } from "../../model/resource.ts";

export interface ClusterSourceOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** The only namespace to watch, for which Roles suffice; all namespaces if undefined. */
  readonly namespace: string | undefined;
  /** Called when something that concerns the instance has changed, even if it does not exist. Must return immediately. */
  readonly onChange: (instance: ObjectName, reason: string) => void;
  /** Called when an object has changed that no run covers. Must return immediately. */
  readonly onUnattachedChange?: () => void;
  /** Called when a feed has changed. Must return immediately. */
  readonly onFeedChange?: () => void;
  /** Called with each change of a stored object. Must return immediately. */
  readonly onStored?: (change: ObjectChange<KubeObject>) => void;
  /** Called when a watch or a background request fails. `subject` names the resource, for example `wafiprules`. */
  readonly onProblem?: (subject: string, problem: Pick<ListWatchProblem, "code" | "message" | "error">) => void;
}
