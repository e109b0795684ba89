// The log reader's results for the WafAutoBlocks of each instance, which reconcile runs plan with. Only recorded results are
// published, so that a crash can't leave an unrecorded block. Until the log reader has published something, the stored record
// applies. While the record can't be read, no entry that it may contain is removed.
import type { Clock } from "../async/clock.ts";
import type { ReasonOf } from "../kinds/reasons.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { counted, listed } from "../model/texts.ts";
import type { PublishedJudgements, JudgedEntry } from "./judge.ts";
import type { DeclaredAutoBlock } from "../model/declared.ts";
import type { LogRecordPort } from "../logs/log-records.ts";
import type { StatusPort } from "../run/ports.ts";

/** The delay before an unreadable record is read again. */
const retryMs = 10_000;

/** The state of reading the logs. */
export interface ReadingReport {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: ReasonOf<"LogsJudged">;
  readonly message: string;
}

export type BlocksView =
  | { readonly state: "Unreachable"; readonly problem: string }
  | {
      readonly state: "Known";
      readonly judgements: PublishedJudgements;
      /** Undefined until the logs have been read. */
      readonly reading: ReadingReport | undefined;
    };

export interface BlockBookPorts {
  readonly records: Pick<LogRecordPort, "load">;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Called when the entries of the instance, or the report about the reading, have changed. Must return immediately. */
  readonly onChange: (instance: ObjectName) => void;
}

/** What is known about one instance. */
interface Known {
  readonly view: BlocksView;
  readonly version: number;
  /** When an unreadable record is read again, by the monotonic clock. */
  readonly retryAtMs: number;
}

export class BlockBook {
  readonly #ports: BlockBookPorts;
  readonly #known = new Map<string, Known>();

  constructor(ports: BlockBookPorts) {
    this.#ports = ports;
  }

  /** What `view` has returned last; undefined if nothing was read yet. */
  known(instance: ObjectName): BlocksView | undefined {
    return this.#known.get(nameKey(instance))?.view;
  }

  /** Increases whenever entries of the instance, or the report about the reading, may have changed. */
  version(instance: ObjectName): number {
    return this.#known.get(nameKey(instance))?.version ?? 0;
  }

  /** Returns the same object until something is published. Never rejects. */
  async view(instance: ObjectName): Promise<BlocksView> {
    const { records, clock } = this.#ports;
    const known = this.#known.get(nameKey(instance));
    if (known !== undefined && (known.view.state === "Known" || clock.monotonicMs() < known.retryAtMs)) {
      return known.view;
    }
    const loaded = await records.load(instance);
    // The log reader may have published something meanwhile.
    const current = this.known(instance);
    if (current?.state === "Known") return current;
    const view: BlocksView =
      loaded.state === "Unreachable"
        ? { state: "Unreachable", problem: loaded.problem }
        : { state: "Known", judgements: loaded.record?.judges ?? {}, reading: undefined };
    return this.#set(instance, view, false);
  }

  /** Publishes recorded results. */
  publish(instance: ObjectName, judgements: PublishedJudgements): void {
    const before = this.known(instance);
    const known = before?.state === "Known" ? before : undefined;
    const isNew = known === undefined || gistOf(known.judgements) !== gistOf(judgements);
    this.#set(instance, { state: "Known", judgements, reading: known?.reading }, isNew);
  }

  /** Publishes how the last reading of the logs went. */
  report(instance: ObjectName, reading: ReadingReport): void {
    const before = this.known(instance);
    if (before?.state !== "Known") return;
    const isNew = before.reading?.status !== reading.status || before.reading.reason !== reading.reason;
    this.#set(instance, { ...before, reading }, isNew);
  }

  #set(instance: ObjectName, view: BlocksView, isNew: boolean): BlocksView {
    const version = this.version(instance) + Number(isNew);
    this.#known.set(nameKey(instance), { view, version, retryAtMs: this.#ports.clock.monotonicMs() + retryMs });
    if (isNew) this.#ports.onChange(instance);
    return view;
  }

  forget(instance: ObjectName): void {
    this.#known.delete(nameKey(instance));
  }
}

/** Which clients are listed, and until when. Further evidence alone does not require a run. */
function gistOf(judgements: PublishedJudgements): string {
  return JSON.stringify(
    Object.entries(judgements).map(([key, { leftOut, listed: clients }]) => [
      key,
      leftOut > 0,
      clients.map(({ entry, untilMs }) => [entry, untilMs]),
    ]),
  );
}

const entriesShownMax = 10;

/** Emits an event for suggested clients. Enforced blocks have their own events when their entries are on the list. */
export function suggest(
  status: Pick<StatusPort, "event">,
  { meta, mode }: DeclaredAutoBlock,
  clients: readonly JudgedEntry[],
): void {
  if (mode !== "Suggest") return;
  const entries = listed(
    clients.map(({ entry }) => entry),
    entriesShownMax,
  );
  const message = `Suggests blocking ${counted(clients.length, "client", "clients")}: ${entries}. See the status for the evidence.`;
  status.event(meta, { type: "Normal", reason: "BlockSuggested", message });
}
