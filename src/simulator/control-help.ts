// The text that the control port shows at `/`.
import { faultKinds } from "./fault-rule.ts";
import { logFaultKinds } from "./log-faults.ts";
import { spellingModes } from "./spelling.ts";

export const controlHelp = `wafsync simulator: control port

GET    /state[?lists=false]   lists, origins, counters, overlaps, settings, faults to come
GET    /requests[?limit=100]  the latest requests, without their keys
GET    /faults                the faults to come
POST   /faults                one rule or an array: {"match": {"method", "path", "ip", "domain", "nth"}, "times": 1, "effect": {"kind", ...}}
DELETE /faults                no more faults
POST   /entries               an edit behind the API's back: {"domain", "list": "blocklist", "entries": ["192.0.2.1"]}
DELETE /entries               the same, to remove
POST   /latency               {"latencyMs": 20}
POST   /spelling              {"spelling": "Expanded", "deletionSpelling": "Shown" or "Any"}
POST   /overlap               {"overlap": "Refuse" or "Record"}
POST   /primary               {"domain", "origin"}: another primary origin
POST   /domain                {"domain", "newDomain"}: the key answers with another domain
POST   /key                   {"domain", "newKey"}: the key until now becomes wrong
POST   /logs                  {"domain", "entries": [...], "visibleInMs": 0}: more rows of logs
POST   /log-settings          {"domain", "rowsPerDay", "lateMsMax", "emptyLastPage", "scenario", "plan"}: other logs from now on
POST   /log-faults            {"percent": 33, "pages": [2, 5], "kinds": [...], "seed": 1}: pages of logs go wrong from now on
DELETE /log-faults            no more of them
DELETE /scrolls               {"domain"}: every scroll id becomes invalid
POST   /reset                 everything as it was started

Kinds of fault: ${faultKinds.join(", ")}
Of pages of logs: ${logFaultKinds.join(", ")}
Add "afterEffect": true or false to choose whether the request does its work first.
Spellings: ${spellingModes.join(", ")}
Bodies are JSON. "domain" can be left out where there is only one WAF.

curl -d '{"match": {"method": "POST"}, "effect": {"kind": "Timeout", "afterEffect": true}}' CONTROL/faults
`;
