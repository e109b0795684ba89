// The two parts of undici that the lane needs. The package as a whole brings fetch, WebSocket and caches, which take longer
// to load than everything else of `wafsync plan`; it has types for the whole only.
declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  export default Client;
}

declare module "undici/lib/core/connect.js" {
  import { buildConnector } from "undici";
  export default buildConnector;
}
