// Why content yields no entries at all. Individual invalid lines are not faults: they are counted.

export type ReadFaultCode = "NotInFormat" | "TooManyEntries";

export interface ReadFault {
  readonly code: ReadFaultCode;
  /** A sentence that does not quote the content. */
  readonly message: string;
}
