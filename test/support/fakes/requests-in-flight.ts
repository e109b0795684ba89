// Detects whether a request of this process is still being transmitted. A busy machine may deliver it late, and a
// test clock that advances in the meantime would let a request time out although its response has been sent.
import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest, ServerResponse } from "node:http";

const sent = new Set<ClientRequest>();
let handled = 0;

subscribe("http.client.request.start", (message) => {
  const { request } = message as { readonly request: ClientRequest };
  sent.add(request);
  request.once("close", () => sent.delete(request));
});
subscribe("http.server.request.start", (message) => {
  handled += 1;
  const { response } = message as { readonly response: ServerResponse };
  response.once("close", () => void (handled -= 1));
});

/** False if the servers of this process have received every request that a client waits for, even if they never respond. */
export function areRequestsInFlight(): boolean {
  return sent.size > handled;
}
