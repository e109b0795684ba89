// The two parts of undici that the lane needs. The whole package includes fetch, WebSocket and caches, which take longer to load
// than everything else in `wafsync plan`. Its types cover only the whole package.
declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  export default Client;
}

declare module "undici/lib/core/connect.js" {
  import { buildConnector } from "undici";
  export default buildConnector;
}
