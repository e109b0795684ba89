// The text that the control port shows at `/`.
import { faultKinds } from "./fault-rule.ts";
import { logFaultKinds } from "./log-faults.ts";
import { spellingModes } from "./spelling.ts";

export const controlHelp = `wafsync simulator: control port

GET    /state[?lists=false]   lists, origins, counters, overlaps, settings, pending faults
GET    /requests[?limit=100]  the latest requests, without their keys
GET    /faults                the pending faults
POST   /faults                one rule or an array: {"match": {"method", "path", "ip", "domain", "nth"}, "times": 1, "effect": {"kind", ...}}
DELETE /faults                removes all faults
POST   /entries               {"domain", "list": "blocklist", "entries": ["192.0.2.1"]}: adds entries without the API
DELETE /entries               the same fields: removes entries without the API
POST   /latency               {"latencyMs": 20}
POST   /spelling              {"spelling": "Expanded", "deletionSpelling": "Shown" or "Any"}
POST   /overlap               {"overlap": "Refuse" or "Record"}
POST   /primary               {"domain", "origin"}: changes the primary origin
POST   /domain                {"domain", "newDomain"}: the key belongs to a different domain
POST   /key                   {"domain", "newKey"}: the previous key becomes invalid
POST   /logs                  {"domain", "entries": [...], "visibleInMs": 0}: adds log rows
POST   /log-settings          {"domain", "rowsPerDay", "lateMsMax", "emptyLastPage", "scenario", "plan"}: changes the logs
POST   /log-faults            {"percent": 33, "pages": [2, 5], "kinds": [...], "seed": 1}: pages of logs fail from now on
DELETE /log-faults            removes these faults
DELETE /scrolls               {"domain"}: every scroll id becomes invalid
POST   /reset                 resets everything to the initial state

Kinds of fault: ${faultKinds.join(", ")}
For pages of logs: ${logFaultKinds.join(", ")}
Add "afterEffect": true or false to choose whether the request takes effect first.
Spellings: ${spellingModes.join(", ")}
Bodies are JSON. "domain" is optional if there is only one WAF.

curl -d '{"match": {"method": "POST"}, "effect": {"kind": "Timeout", "afterEffect": true}}' CONTROL/faults
`;
