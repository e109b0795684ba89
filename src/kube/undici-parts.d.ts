// The parts of undici that requests to the API server need. The complete package contains fetch, WebSocket and caches, which
// take longer to load and more memory than the rest of the operator; it has types only for the complete package.
declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";
  export default Agent;
}

declare module "undici/lib/dispatcher/proxy-agent.js" {
  import { ProxyAgent } from "undici";
  export default ProxyAgent;
}

declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";
  export default function request(
    this: Dispatcher,
    options: Dispatcher.RequestOptions & { readonly origin: string },
  ): Promise<Dispatcher.ResponseData>;
}
