// Origins over HTTP. The API's response to a rejected write is not documented; here, it is a 400 with a random message.
import { accepted, refused, requiredParameter } from "./answer.ts";
import type { Answer, Call } from "./answer.ts";
import { originTypes } from "./simulated-origins.ts";
import type { OriginChange } from "./simulated-origins.ts";

export function readOrigin({ waf }: Call): Answer {
  return { status: 200, body: { success: true, domain: waf.domain, origin: waf.origins.primary } };
}

export function addOrigin(call: Call): Answer {
  const typeText = requiredParameter(call, "origin_type");
  const type = originTypes.find((one) => one === typeText);
  if (type === undefined) return refused(call.waf);
  return answerOf(call, call.waf.origins.add(requiredParameter(call, "origin"), type));
}

export function removeOrigin(call: Call): Answer {
  return answerOf(call, call.waf.origins.remove(requiredParameter(call, "origin")));
}

function answerOf({ waf }: Call, change: OriginChange): Answer {
  if (change !== "Done") return refused(waf);
  waf.counters.changes += 1;
  return accepted(waf);
}
