// Whether data of a request is on its way between a client and a server of this process. A busy machine may deliver it late, and a
// clock of a test that moves on meanwhile lets a request time out whose response has been sent.
import { subscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";

let sent = 0;
let handled = 0;

subscribe("undici:request:create", () => void (sent += 1));
subscribe("undici:request:trailers", () => void (sent -= 1));
subscribe("undici:request:error", () => void (sent -= 1));
subscribe("http.server.request.start", (message) => {
  handled += 1;
  const { response } = message as { readonly response: ServerResponse };
  response.once("close", () => void (handled -= 1));
});

/** False while the servers of this process hold each request that a client waits for, as a server does that never responds. */
export function areRequestsInFlight(): boolean {
  return sent > handled;
}
