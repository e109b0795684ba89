// Wraps a source of resources and adds a rule for each WafAutoBlock: its source is the log of blocked requests, and its entries are the
// clients that the log reader listed, each with its own end. Everything else is passed through.
import { formatTime } from "../model/time-text.ts";
import type { Entry } from "../address/entry.ts";
import { attachmentOf } from "../model/attachment.ts";
import { emptyRule } from "../model/declared.ts";
import type { DeclaredAutoBlock } from "../model/declared.ts";
import type { JudgedEntry } from "./judge.ts";
import type { AddressText, Gathered, GatheredRule } from "../model/gathered.ts";
import { inThousands } from "../model/sentence.ts";
import { visibleText } from "../model/visible-text.ts";
import { blockKey } from "./judges.ts";
import type { SourcePort } from "../run/ports.ts";
import type { BlockBook, BlocksView } from "./block-book.ts";

const source = { kind: "Log" } as const;

export function withAutoBlocks(source: SourcePort, book: Pick<BlockBook, "view" | "version">): SourcePort {
  // Plans are cached by this object, so it must stay the same while nothing changes.
  const known = new WeakMap<Gathered, { readonly view: BlocksView; readonly gathered: Gathered }>();
  const extend = async (gathered: Gathered | undefined): Promise<Gathered | undefined> => {
    if (gathered?.autoBlocks === undefined) return gathered;
    const view = await book.view(gathered.instance.meta);
    const before = known.get(gathered);
    if (before?.view === view) return before.gathered;
    const extended = withBlockRules(gathered, view);
    known.set(gathered, { view, gathered: extended });
    return extended;
  };
  return {
    ...source,
    gather: async (instance) => await extend(await source.gather(instance)),
    confirm: async (instance, options) => {
      const confirmed = await source.confirm(instance, options);
      return confirmed.state === "Failed" ? confirmed : { ...confirmed, gathered: await extend(confirmed.gathered) };
    },
    version: (instance) => source.version(instance) + book.version(instance),
  };
}

/** Returns the gathered objects with an additional rule for each WafAutoBlock. */
export function withBlockRules(gathered: Gathered, view: BlocksView): Gathered {
  const rules = (gathered.autoBlocks ?? []).map((declared) => blockRule(declared, gathered, view));
  return rules.length === 0 ? gathered : { ...gathered, rules: [...gathered.rules, ...rules] };
}

/** The rule of a WafAutoBlock. */
export function blockRule(declared: DeclaredAutoBlock, gathered: Gathered, view: BlocksView): GatheredRule {
  const { meta, instance, exempt, mode } = declared;
  // A guest's origins exempt nobody from the owner's automatic blocks.
  const origins = gathered.origins.flatMap((origin) => (origin.meta.namespace === meta.namespace ? [origin.host] : []));
  return {
    rule: {
      meta,
      instance,
      action: "Block",
      ...emptyRule,
      yieldsTo: [...exempt, ...origins],
      ...(mode === "Suggest" && { suggests: true }),
    },
    texts: [
      view.state === "Known"
        ? listedText(view.judgements.get(blockKey(meta))?.entries ?? [], maxTtlOf(declared, gathered))
        : { state: "Missing", source, problem: view.problem },
    ],
  };
}

/** Whatever the log no longer lists has ended by itself. */
const ended = { has: () => true };

function listedText(clients: readonly JudgedEntry[], maxTtlMs: number): AddressText {
  return {
    state: "Listed",
    source,
    entries: clients.map(({ entry }) => entry),
    ending: new Map(clients.map(({ entry, sinceMs, untilMs }) => [entry, Math.min(untilMs, sinceMs + maxTtlMs)])),
    ended,
    notes: new Map<Entry, string>(clients.map((client) => [client.entry, evidenceOf(client)])),
  };
}

/** How long the grant of its namespace allows an entry to last. */
function maxTtlOf({ meta }: DeclaredAutoBlock, gathered: Gathered): number {
  return attachmentOf(gathered, meta).grant?.maxTtlMs ?? Number.POSITIVE_INFINITY;
}

/** `63 requests from 2026-11-22T09:12:01Z to 2026-11-22T09:14:30Z: 60 SQL Injection, 3 Scanner`. */
function evidenceOf({ requests, firstMs, lastMs, reasons, times }: JudgedEntry): string {
  const count = requests === 1 ? "1 request" : `${inThousands(requests)} requests`;
  const why = reasons.map(({ label, requests: of }) => `${inThousands(of)} ${visibleText(label)}`).join(", ");
  const again = times === 1 ? "" : `; listed ${times} times`;
  return `${count} from ${formatTime(firstMs)} to ${formatTime(lastMs)}${why === "" ? "" : `: ${why}`}${again}`;
}
