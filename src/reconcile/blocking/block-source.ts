// Wraps a source of resources and adds a rule for each WafAutoBlock, with the clients that the log reader listed. Everything else is
// passed through.
import type { DeclaredAutoBlock, Judgement } from "../../model/auto-block.ts";
import type { Gathered, GatheredRule } from "../../model/gathered.ts";
import { blockKey } from "../../plan/blocking/judges.ts";
import type { SourcePort } from "../ports.ts";
import type { BlockBook, BlocksView } from "./block-book.ts";

export function withAutoBlocks(source: SourcePort, book: Pick<BlockBook, "view" | "version">): SourcePort {
  // Plans are cached by this object, so it must stay the same while nothing changes.
  const known = new WeakMap<Gathered, { readonly view: BlocksView; readonly gathered: Gathered }>();
  const extend = async (gathered: Gathered | undefined): Promise<Gathered | undefined> => {
    if (gathered?.autoBlocks === undefined) return gathered;
    const view = await book.view(gathered.instance.meta);
    const before = known.get(gathered);
    if (before?.view === view) return before.gathered;
    const extended = withJudged(gathered, view);
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
export function withJudged(gathered: Gathered, view: BlocksView): Gathered {
  const rules = (gathered.autoBlocks ?? []).map((declared) => judgedRule(declared, view));
  return rules.length === 0 ? gathered : { ...gathered, rules: [...gathered.rules, ...rules] };
}

const nothing: Judgement = {
  entries: [],
  rows: { matched: 0, late: 0, unreadable: 0 },
  lastRowMs: undefined,
  leftOut: 0,
};

function judgedRule(declared: DeclaredAutoBlock, view: BlocksView): GatheredRule {
  const { meta, instance } = declared;
  const judgement = (view.state === "Known" ? view.judgements.get(blockKey(meta)) : undefined) ?? nothing;
  const reading = view.state === "Known" ? view.reading : undefined;
  return {
    rule: {
      meta,
      instance,
      action: "Block",
      addresses: [],
      addressesFrom: [],
      feeds: [],
      except: [],
      aggregate: false,
      expiresAtMs: undefined,
      ttlMs: undefined,
      priority: 0,
      deletionPolicy: "Delete",
    },
    texts: view.state === "Known" ? [] : [{ state: "Missing", source: "log", problem: view.problem }],
    judged: { declared, judgement, reading },
  };
}
