// Selects the WafAutoBlocks of an instance that are judged.
import type { DeclaredAutoBlock } from "../../model/auto-block.ts";
import { decideAttachment } from "../../model/attachment.ts";
import type { Gathered } from "../../model/gathered.ts";
import { byAge } from "../../model/resource.ts";

/** The maximum number of judged WafAutoBlocks per instance. */
export const autoBlocksMax = 8;

/** The attached WafAutoBlocks that are judged: those of the owner first, then the oldest. */
export function judgedBlocks({ instance, autoBlocks = [], namespaceLabels }: Gathered): readonly DeclaredAutoBlock[] {
  const { namespace: home } = instance.meta;
  const attached = autoBlocks.filter(({ meta: { namespace, deleting } }) => {
    const { state } = decideAttachment(instance, "WafAutoBlock", namespace, namespaceLabels.get(namespace));
    return state === "Allowed" && !deleting;
  });
  const isGuests = ({ meta }: DeclaredAutoBlock): number => Number(meta.namespace !== home);
  return attached.toSorted((a, b) => isGuests(a) - isGuests(b) || byAge(a.meta, b.meta)).slice(0, autoBlocksMax);
}
