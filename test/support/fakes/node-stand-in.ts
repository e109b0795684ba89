// Replaces scheduler and kubelet, which the control plane of the tests does not have: pods become ready immediately, except for
// pods with the image `broken`, which never become ready.
import { realClock } from "../../../src/async/clock.ts";
import type { KubeRequests } from "../worlds/kube-requests.ts";

export const brokenImage = "broken";
const pollMs = 100;

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export interface NodeStandIn {
  end(): Promise<void>;
}

/** Manages the pods of one namespace until it is closed. */
export function startNodeStandIn(requests: KubeRequests, namespace: string): NodeStandIn {
  const ending = new AbortController();
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const look = async (): Promise<void> => {
    const { items } = (await requests.expect({ path: pods })) as { readonly items: readonly Pod[] };
    for (const pod of items.filter(isWaiting)) {
      const now = new Date().toISOString();
      const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
        type,
        status: "True",
        lastTransitionTime: now,
      }));
      await requests.send({
        method: "PATCH",
        path: `${pods}/${pod.metadata.name}/status`,
        contentType: "application/merge-patch+json",
        body: { status: { phase: "Running", startTime: now, conditions } },
      });
    }
  };
  const follow = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await look().catch(() => undefined);
      await realClock.sleep(pollMs, ending.signal);
    }
  };
  const running = follow();
  return {
    end: async () => {
      ending.abort();
      await running;
    },
  };
}

function isWaiting({ metadata, spec, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if (spec.containers.some(({ image }) => image === brokenImage)) return false;
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") !== true;
}
