// All kinds in one place: their definitions, and the objects that documents are parsed into.
import type * as z from "zod";
import type { ResourceKind } from "../model/resource.ts";
import type { apiVersion } from "./kinds.ts";
import type { KindDefinition, ServedDefinition } from "./kind-definition.ts";
import type { ObjectMetadata } from "./parse-metadata.ts";
import { wafAutoBlockDefinition } from "./waf-auto-block.ts";
import { wafCacheClearDefinition } from "./waf-cache-clear.ts";
import { wafFeedDefinition } from "./waf-feed.ts";
import { wafInstanceDefinition } from "./waf-instance.ts";
import { wafIpRuleDefinition } from "./waf-ip-rule.ts";
import { wafOriginDefinition } from "./waf-origin.ts";
import { wafRecordDefinition } from "./waf-record.ts";

export const kindDefinitions = {
  WafInstance: wafInstanceDefinition,
  WafIpRule: wafIpRuleDefinition,
  WafOrigin: wafOriginDefinition,
  WafCacheClear: wafCacheClearDefinition,
  WafFeed: wafFeedDefinition,
  WafAutoBlock: wafAutoBlockDefinition,
} as const satisfies Record<ResourceKind, KindDefinition>;

/** Every kind that has a CRD and a reference page, in the order in which they are generated. */
export const servedDefinitions: readonly ServedDefinition[] = [...Object.values(kindDefinitions), wafRecordDefinition];

type Definitions = typeof kindDefinitions;

/** An object of this kind. */
export interface Resource<Kind extends ResourceKind> {
  readonly apiVersion: typeof apiVersion;
  readonly kind: Kind;
  readonly metadata: ObjectMetadata;
  readonly spec: z.output<Definitions[Kind]["spec"]>;
  readonly status: z.output<Definitions[Kind]["status"]>;
}

export type CustomResource = { readonly [Kind in ResourceKind]: Resource<Kind> }[ResourceKind];
