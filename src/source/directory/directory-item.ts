// One object of a directory, with its place.
import type { DeclaredByKind } from "../../api/to-declared.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { ObjectName, ResourceKind } from "../../model/resource.ts";

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

type DeclaredItem = {
  [Kind in ResourceKind]: Placed & {
    readonly kind: Kind;
    readonly declared: DeclaredByKind[Kind];
    readonly lines: ReferenceLines;
  };
}[ResourceKind];

export type DirectoryItem =
  | DeclaredItem
  | (Placed & CoreObject & { readonly textLines: ReadonlyMap<string, TextLines> });
