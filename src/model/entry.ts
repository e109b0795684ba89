declare const brand: unique symbol;
/** A canonical address or network. */
export type Entry = string & { readonly [brand]: "Entry" };
