// The options of the operator, and what its page may see of it.
import type { ApiServer } from "../kube/api-server.ts";
import type { KubeConfig } from "../kube/credentials.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import type { LabelSelector } from "../model/declared.ts";
import type { Redactor } from "../model/redactor.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import type { Logger } from "../telemetry/log.ts";
import type { CallWaf } from "./waf-clients.ts";
import type { WorkOptions } from "./work.ts";

export interface OperatorOptions extends WorkOptions {
  readonly kubeConfig: KubeConfig;
  /** The only namespace to manage, with Roles only; all namespaces if undefined. */
  readonly namespace: string | undefined;
  /** Undefined if there is no leader election. */
  readonly lease: ObjectAddress | undefined;
  /** The labels of the instances and feeds of this operator; undefined for all. */
  readonly selector?: LabelSelector | undefined;
  readonly podName: string;
  /** The base URL of an OpenTelemetry collector, for instances that forward their logs to it; undefined if there is none. */
  readonly otlpEndpoint?: string | undefined;
  /** Serves a page about the operator; undefined if there is none. */
  readonly servePage?: ServePage | undefined;
  readonly ports: { readonly host: string | undefined; readonly healthPort: number; readonly metricsPort: number };
  readonly log: Logger;
}

/** What a page may see of the operator: the objects of its watches, and its WAF clients for reading. */
export interface OperatorSight {
  readonly api: ApiServer;
  /** The only managed namespace; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly redactor: Redactor;
  readonly objects: ClusterSource["objects"];
  /** Why the watches are incomplete, in a sentence; undefined if they are complete. */
  readonly notReadyBecause: () => string | undefined;
  /** Calls the WAF in the lane of the key, like every other call of the operator. */
  readonly callWaf: CallWaf;
}

/** Serves a page. Returns a function that stops it. Never rejects. */
export type ServePage = (sight: OperatorSight) => Promise<() => Promise<void>>;
