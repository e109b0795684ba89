// All kinds in one place: their definitions, and the objects that documents are parsed into.
import type { ResourceKind } from "../model/resource.ts";
import type { apiVersion } from "./kinds.ts";
import type { KindDefinition, ServedDefinition } from "./kind-definition.ts";
import { type WafAutoBlockSpec, type WafAutoBlockStatus, wafAutoBlockDefinition } from "./waf-auto-block.ts";
import { type WafCacheClearSpec, type WafCacheClearStatus, wafCacheClearDefinition } from "./waf-cache-clear.ts";
import { type WafFeedSpec, type WafFeedStatus, wafFeedDefinition } from "./waf-feed.ts";
import { type WafInstanceSpec, type WafInstanceStatus, wafInstanceDefinition } from "./waf-instance.ts";
import { type WafIpRuleSpec, type WafIpRuleStatus, wafIpRuleDefinition } from "./waf-ip-rule.ts";
import { type WafOriginSpec, type WafOriginStatus, wafOriginDefinition } from "./waf-origin.ts";
import { wafRecordDefinition } from "./waf-record.ts";

export const kindDefinitions: Readonly<Record<ResourceKind, KindDefinition>> = {
  WafInstance: wafInstanceDefinition,
  WafIpRule: wafIpRuleDefinition,
  WafOrigin: wafOriginDefinition,
  WafCacheClear: wafCacheClearDefinition,
  WafFeed: wafFeedDefinition,
  WafAutoBlock: wafAutoBlockDefinition,
};

/** Every kind that has a CRD and a reference page, in the order in which they are generated. */
export const servedDefinitions: readonly ServedDefinition[] = [...Object.values(kindDefinitions), wafRecordDefinition];

/** The fields of `metadata` that wafsync reads. Documents in a directory lack most of them. */
export interface ObjectMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string | undefined;
  readonly deletionTimestamp: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly finalizers: readonly string[];
}

interface Resource<Kind extends ResourceKind, Spec, Status> {
  readonly apiVersion: typeof apiVersion;
  readonly kind: Kind;
  readonly metadata: ObjectMetadata;
  readonly spec: Spec;
  readonly status: Status;
}

export type WafInstance = Resource<"WafInstance", WafInstanceSpec, WafInstanceStatus>;
export type WafIpRule = Resource<"WafIpRule", WafIpRuleSpec, WafIpRuleStatus>;
export type WafOrigin = Resource<"WafOrigin", WafOriginSpec, WafOriginStatus>;
export type WafCacheClear = Resource<"WafCacheClear", WafCacheClearSpec, WafCacheClearStatus>;
export type WafFeed = Resource<"WafFeed", WafFeedSpec, WafFeedStatus>;
export type WafAutoBlock = Resource<"WafAutoBlock", WafAutoBlockSpec, WafAutoBlockStatus>;
export type CustomResource = WafInstance | WafIpRule | WafOrigin | WafCacheClear | WafFeed | WafAutoBlock;
export type CustomResourceStatus = CustomResource["status"];
