// The clients that WafAutoBlocks in the mode Suggest would block, with a rule to copy for each WafAutoBlock.
import { stringify } from "yaml";
import type { JudgedEntry } from "../../model/auto-block.ts";
import { ruleLabel } from "../../model/rule-id.ts";
import { secondText } from "../../model/time-text.ts";
import type { DesiredState } from "../../plan/instance/desired.ts";
import { evidenceOf } from "../../plan/lists/judged-evidence.ts";
import type { Cell, Column } from "./data-table.ts";
import { html } from "./html.ts";
import type { Markup } from "./html.ts";
import { timeWords } from "./request-words.ts";
import { ruleToCopy } from "./rule-to-copy.ts";
import { tableSection } from "./table-section.ts";

/** The suggestions of one WafAutoBlock. */
export interface BlockSuggestions {
  /** `WafAutoBlock shop/attackers`. */
  readonly label: string;
  readonly clients: readonly JudgedEntry[];
  /** A WafIpRule as YAML, which blocks the clients as long as the WafAutoBlock would. */
  readonly rule: string;
}

/** The clients that would be blocked now with `mode: Enforce`. */
export function suggestionsIn({ rules }: DesiredState): BlockSuggestions[] {
  return rules.flatMap(({ id, rule: { meta, instance }, judged = [], entries }) => {
    if (judged.length === 0 || entries.size > 0) return [];
    const untilMs = Math.max(...judged.map((client) => client.untilMs));
    const rule = {
      apiVersion: "wafsync.dev/v1alpha1",
      kind: "WafIpRule",
      metadata: { name: `${meta.name}-suggested`, namespace: meta.namespace },
      spec: {
        instanceRef: instance,
        action: "Block",
        description: `Suggested by ${ruleLabel(id)}`,
        expiresAt: secondText(untilMs),
        addresses: judged.map(({ entry }) => entry),
      },
    };
    return [{ label: ruleLabel(id), clients: judged, rule: stringify(rule) }];
  });
}

const columns: readonly Column[] = [
  { title: "Client or network", kind: "address" },
  { title: "Evidence", kind: "words" },
  { title: "Until", kind: "time" },
];

export function suggestionSections(suggestions: readonly BlockSuggestions[]): Markup[] {
  return suggestions.map(({ label, clients, rule }, place) => {
    const title = `Suggested by ${label}`;
    const rows = clients.map((client): Cell[] => [
      { shown: client.entry },
      { shown: evidenceOf(client) },
      { shown: timeWords(client.untilMs), value: client.untilMs },
    ]);
    const advice = "To let wafsync block such clients, set mode: Enforce. To block only these clients, save this rule.";
    return html`${tableSection({ id: `suggested-${place}`, title, columns, rows })}
    ${ruleToCopy({ id: `suggested-rule-${place}`, title: `Block what ${label} suggests`, advice, rule })}`;
  });
}
