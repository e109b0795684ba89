// Why a text gives no entries at all. Single bad lines are no fault: they are counted.

export type ReadFaultCode = "NotInFormat" | "TooManyEntries";

export interface ReadFault {
  readonly code: ReadFaultCode;
  /** A sentence that quotes nothing of the text. */
  readonly message: string;
}
