// The log reader's results for the WafAutoBlocks of each instance, which reconcile runs plan with. Only recorded results are
// published, so that a crash can't leave an unrecorded block. Until the log reader has published something, the stored record
// applies. While the record can't be read, no entry that it may contain is removed.
import type { Clock } from "../async/clock.ts";
import type { ReasonOf } from "../kinds/reasons.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { counted, listed } from "../model/sentence.ts";
import type { PublishedJudgements } from "./judges.ts";
import type { DeclaredAutoBlock } from "../model/declared.ts";
import type { JudgedEntry } from "./judge.ts";
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

export class BlockBook {
  readonly #ports: BlockBookPorts;
  readonly #views = new Map<string, BlocksView>();
  readonly #retryAtMs = new Map<string, number>();
  readonly #versions = new Map<string, number>();

  constructor(ports: BlockBookPorts) {
    this.#ports = ports;
  }

  /** What `view` has returned last; undefined if nothing was read yet. */
  known(instance: ObjectName): BlocksView | undefined {
    return this.#views.get(nameKey(instance));
  }

  /** Increases whenever entries of the instance, or the report about the reading, may have changed. */
  version(instance: ObjectName): number {
    return this.#versions.get(nameKey(instance)) ?? 0;
  }

  /** Returns the same object until something is published. Never rejects. */
  async view(instance: ObjectName): Promise<BlocksView> {
    const key = nameKey(instance);
    const { records, clock } = this.#ports;
    const known = this.#views.get(key);
    if (known?.state === "Known") return known;
    if (known !== undefined && clock.monotonicMs() < (this.#retryAtMs.get(key) ?? 0)) return known;
    const loaded = await records.load(instance);
    // The log reader may have published something meanwhile.
    const current = this.#views.get(key);
    if (current?.state === "Known") return current;
    const view: BlocksView =
      loaded.state === "Unreachable"
        ? { state: "Unreachable", problem: loaded.problem }
        : { state: "Known", judgements: loaded.record?.judges ?? {}, reading: undefined };
    this.#views.set(key, view);
    this.#retryAtMs.set(key, clock.monotonicMs() + retryMs);
    return view;
  }

  /** Publishes recorded results. */
  publish(instance: ObjectName, judgements: PublishedJudgements): void {
    const before = this.#views.get(nameKey(instance));
    const reading = before?.state === "Known" ? before.reading : undefined;
    this.#views.set(nameKey(instance), { state: "Known", judgements, reading });
    if (before?.state === "Known" && gistOf(before.judgements) === gistOf(judgements)) return;
    this.#changed(instance);
  }

  /** Publishes how the last reading of the logs went. */
  report(instance: ObjectName, reading: ReadingReport): void {
    const before = this.#views.get(nameKey(instance));
    if (before?.state !== "Known") return;
    this.#views.set(nameKey(instance), { ...before, reading });
    if (before.reading?.status === reading.status && before.reading.reason === reading.reason) return;
    this.#changed(instance);
  }

  #changed(instance: ObjectName): void {
    this.#versions.set(nameKey(instance), this.version(instance) + 1);
    this.#ports.onChange(instance);
  }

  forget(instance: ObjectName): void {
    this.#views.delete(nameKey(instance));
    this.#retryAtMs.delete(nameKey(instance));
    this.#versions.delete(nameKey(instance));
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
