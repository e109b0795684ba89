// Wraps a source of resources and adds a rule for each WafAutoBlock: its source is the log of blocked requests, and its entries are the
// clients that the log reader listed, each with its own end. Everything else is passed through.
import { formatTime, inThousands, visibleText } from "../model/texts.ts";
import type { Entry } from "../address/entry.ts";
import { attachmentOf, type AddressText, type Gathered, type GatheredRule } from "../model/gathered.ts";
import { emptyRule } from "../model/declared.ts";
import type { DeclaredAutoBlock } from "../model/declared.ts";
import { type JudgedEntry, topReasons, blockKey } from "./judge.ts";
import { extending, type SourcePort } from "../run/ports.ts";
import type { BlockBook, BlocksView } from "./block-book.ts";

const source = { kind: "Log" } as const;

export function withAutoBlocks(source: SourcePort, book: Pick<BlockBook, "view" | "version">): SourcePort {
  const extended = extending(source, async (gathered) =>
    gathered.autoBlocks === undefined ? gathered : withBlockRules(gathered, await book.view(gathered.instance.meta)),
  );
  return { ...extended, version: (instance) => source.version(instance) + book.version(instance) };
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
        ? listedText(view.judgements[blockKey(meta)]?.listed ?? noClients, maxTtlOf(declared, gathered))
        : { state: "Missing", source, problem: view.problem },
    ],
  };
}

/** Whatever the log no longer lists has ended by itself. */
const ended = { has: () => true };

const noClients: readonly JudgedEntry[] = [];

// The rule is parsed again only if its text is another one.
const texts = new WeakMap<readonly JudgedEntry[], { readonly maxTtlMs: number; readonly text: AddressText }>();

function listedText(clients: readonly JudgedEntry[], maxTtlMs: number): AddressText {
  const known = texts.get(clients);
  if (known?.maxTtlMs === maxTtlMs) return known.text;
  const text: AddressText = {
    state: "Listed",
    source,
    entries: clients.map(({ entry }) => entry),
    ending: new Map(clients.map(({ entry, sinceMs, untilMs }) => [entry, Math.min(untilMs, sinceMs + maxTtlMs)])),
    ended,
    notes: new Map<Entry, string>(clients.map((client) => [client.entry, evidenceOf(client)])),
  };
  texts.set(clients, { maxTtlMs, text });
  return text;
}

/** How long the grant of its namespace allows an entry to last. */
function maxTtlOf({ meta }: DeclaredAutoBlock, gathered: Gathered): number {
  return attachmentOf(gathered, meta).grant?.maxTtlMs ?? Number.POSITIVE_INFINITY;
}

/** `63 requests from 2026-11-22T09:12:01Z to 2026-11-22T09:14:30Z: 60 SQL Injection, 3 Scanner`. */
function evidenceOf(client: JudgedEntry): string {
  const { requests, firstMs, lastMs, times } = client;
  const count = requests === 1 ? "1 request" : `${inThousands(requests)} requests`;
  const reasons = topReasons(client)
    .map(([label, of]) => `${inThousands(of)} ${visibleText(label)}`)
    .join(", ");
  const again = times === 1 ? "" : `; listed ${times} times`;
  return `${count} from ${formatTime(firstMs)} to ${formatTime(lastMs)}${reasons === "" ? "" : `: ${reasons}`}${again}`;
}
