// The requests of one user in the audit log of kube-apiserver: see `audits` in start.ts.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { filesIn } from "./server-flags.ts";

export interface AuditedRequest {
  /** The Kubernetes verb, such as `list` or `patch`. */
  readonly verb: string;
  /** With the subresource, such as `wafiprules/status`; empty for paths such as /version. */
  readonly resource: string;
  /** `namespace/name`, if the request contains them. */
  readonly object: string;
  readonly status: number;
}

interface AuditLine {
  readonly verb: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** All requests with a response; a watch has a response when it ends. */
export async function requestsOf(user: string, directory: string): Promise<AuditedRequest[]> {
  const requests: AuditedRequest[] = [];
  for await (const text of createInterface({ input: createReadStream(filesIn(directory).auditLog) })) {
    const line = JSON.parse(text) as AuditLine;
    if (line.user?.username !== user) continue;
    const { resource = "", subresource, namespace = "", name = "" } = line.objectRef ?? {};
    requests.push({
      verb: line.verb,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      object: `${namespace}/${name}`,
      status: line.responseStatus?.code ?? 0,
    });
  }
  return requests;
}

/** The maximum number of requests of this kind for one object. */
export function mostForOneObject(requests: readonly AuditedRequest[], verb: string, resource: string): number {
  const counts = new Map<string, number>();
  for (const request of requests) {
    if (request.verb !== verb || request.resource !== resource) continue;
    counts.set(request.object, (counts.get(request.object) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}
