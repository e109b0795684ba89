// Rejects environment variables that make Node.js leak credentials, for commands that connect to a server.
import { readEnvironment } from "../app/config.ts";
import { CommandError } from "./describe-error.ts";

/** Runs before any code is loaded that calls the WAF or a cluster. @throws CommandError */
export function refuseUnsafeEnvironment(): void {
  const { nodeDebug, tlsRejectUnauthorized } = readEnvironment();
  if (nodeDebug !== undefined) {
    throw new CommandError(
      "the environment variable NODE_DEBUG is set, so Node.js would print API keys",
      "Run wafsync without it, for example: env -u NODE_DEBUG wafsync …",
    );
  }
  if (tlsRejectUnauthorized === "0") {
    throw new CommandError(
      "the environment variable NODE_TLS_REJECT_UNAUTHORIZED is 0, so Node.js would send API keys to any server",
      "Run wafsync without it. To trust your own certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.",
    );
  }
}
