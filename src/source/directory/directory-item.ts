// What one object of a directory is to wafsync, with its place.
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredCacheClear, DeclaredInstance, DeclaredOrigin, DeclaredRule } from "../../model/declared.ts";
import type { ObjectName } from "../../model/resource.ts";

/** The namespace of documents that name none, as kubectl has it. */
export const defaultNamespace = "default";

export type CoreObject =
  | { readonly kind: "ConfigMap"; readonly name: ObjectName; readonly data: Readonly<Record<string, string>> }
  /** Every value is wrapped as if it were an API key, so that none is printed by accident. */
  | { readonly kind: "Secret"; readonly name: ObjectName; readonly data: ReadonlyMap<string, ApiKey> }
  | { readonly kind: "Namespace"; readonly name: ObjectName; readonly labels: Readonly<Record<string, string>> };

interface Placed {
  readonly name: ObjectName;
  readonly file: string;
  readonly line: number;
}

export type DirectoryItem =
  | (Placed & { readonly kind: "WafInstance"; readonly declared: DeclaredInstance })
  | (Placed & { readonly kind: "WafIpRule"; readonly declared: DeclaredRule })
  | (Placed & { readonly kind: "WafOrigin"; readonly declared: DeclaredOrigin })
  | (Placed & { readonly kind: "WafCacheClear"; readonly declared: DeclaredCacheClear })
  | (Placed & CoreObject);
