// The blocklist and the allowlist over HTTP. Reads return bare arrays; a write that changes nothing is rejected.
import { accepted, refused, requiredParameter } from "./answer.ts";
import type { Answer, Call, Handler } from "./answer.ts";
import type { ListChange } from "./simulated-list.ts";
import type { ListName } from "./simulated-waf.ts";

export function readList(list: ListName): Handler {
  return ({ waf, settings }) => ({ status: 200, body: waf.lists[list].shown(settings.spelling) });
}

export function addAddress(list: ListName): Handler {
  return (call) => {
    const ip = requiredParameter(call, "ip");
    return answerOf(call, call.waf.lists[list].add(ip, call.nowMs), `${ip} was added to the ${list}`);
  };
}

export function removeAddress(list: ListName): Handler {
  return (call) => {
    const { spelling, deletionSpelling } = call.settings;
    const ip = requiredParameter(call, "ip");
    const shownIn = deletionSpelling === "Shown" ? spelling : undefined;
    const change = call.waf.lists[list].remove(ip, shownIn, call.nowMs);
    if (change === "OtherSpelling") call.waf.counters.deletionsInOtherSpelling += 1;
    return answerOf(call, change, `${ip} was removed from the ${list}`);
  };
}

function answerOf({ waf }: Call, change: ListChange, message: string): Answer {
  if (change !== "Done") return refused(waf);
  waf.counters.changes += 1;
  return accepted(waf, message);
}
