// One object of a directory, with its place.
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredCacheClear, DeclaredInstance, DeclaredOrigin, DeclaredRule } from "../../model/declared.ts";
import type { DeclaredAutoBlock } from "../../model/auto-block.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import type { ObjectName } from "../../model/resource.ts";

/** The namespace of documents without one, as in kubectl. */
export const defaultNamespace = "default";

export type CoreObject =
  | { readonly kind: "ConfigMap"; readonly name: ObjectName; readonly data: Readonly<Record<string, string>> }
  /** Every value is wrapped as an API key, so that none is printed by accident. */
  | { readonly kind: "Secret"; readonly name: ObjectName; readonly data: ReadonlyMap<string, ApiKey> }
  | { readonly kind: "Namespace"; readonly name: ObjectName; readonly labels: Readonly<Record<string, string>> };

interface Placed {
  readonly name: ObjectName;
  readonly file: string;
  readonly line: number;
}

/** Line numbers for messages, which the declaration itself does not contain. */
export interface ReferenceLines {
  /** The line of `spec.instanceRef`. */
  readonly instanceRef: number;
  /** The lines of the items of `spec.addresses`. */
  readonly addresses: readonly number[];
}

/** The lines of a ConfigMap value: that of its key, and its first one if it is written as a block. */
export interface TextLines {
  readonly key: number;
  readonly first: number | undefined;
}

export type DirectoryItem =
  | (Placed & { readonly kind: "WafInstance"; readonly declared: DeclaredInstance })
  | (Placed & { readonly kind: "WafIpRule"; readonly declared: DeclaredRule; readonly lines: ReferenceLines })
  | (Placed & { readonly kind: "WafOrigin"; readonly declared: DeclaredOrigin; readonly lines: ReferenceLines })
  | (Placed & { readonly kind: "WafCacheClear"; readonly declared: DeclaredCacheClear; readonly lines: ReferenceLines })
  | (Placed & { readonly kind: "WafFeed"; readonly declared: DeclaredFeed })
  | (Placed & { readonly kind: "WafAutoBlock"; readonly declared: DeclaredAutoBlock; readonly lines: ReferenceLines })
  | (Placed & CoreObject & { readonly textLines: ReadonlyMap<string, TextLines> });
