// One control plane for a whole test run. The process that starts jest offers it on the loopback
// interface. It starts when the first suite requests it, so other runs do not start one.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import type { ClusterDescription } from "./cluster-access.ts";
import { findControlPlane } from "./go-programs.ts";
import { type ControlPlane, startControlPlane } from "./start.ts";

/** The environment variable with the URL of the offer. */
export const offerVariable = "WAFSYNC_TEST_CONTROL_PLANE";

export type Offer =
  | { readonly state: "Running"; readonly description: ClusterDescription }
  | { readonly state: "Missing"; readonly problem: string };

export interface OfferedControlPlane {
  /** Variables for the environment of jest. */
  readonly environment: Readonly<Record<string, string>>;
  /** Ends the control plane if a suite requested it. */
  withdraw(): Promise<void>;
}

/** Listens on a free port. The path is secret, because the response contains an admin token. */
export async function offerControlPlane(): Promise<OfferedControlPlane> {
  let started: Promise<ControlPlane | string> | undefined;
  const path = `/${randomUUID()}`;
  const server = createServer((asked, answer) => {
    if (asked.url !== path) {
      answer.writeHead(404).end();
      return;
    }
    started ??= findAndStart();
    void started.then((result) => answer.end(JSON.stringify(describeOffer(result))));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    environment: { [offerVariable]: `http://127.0.0.1:${port}${path}` },
    async withdraw() {
      server.close().closeAllConnections();
      const result = await started;
      if (typeof result === "object") await result.stop();
    },
  };
}

/** Waits without a time limit, because the programs may have to be built first. */
export async function askForControlPlane(url: string): Promise<Offer> {
  const { statusCode, body } = await request(url, { headersTimeout: 0, reset: true });
  if (statusCode !== 200) throw new Error(`the offer of a control plane ended with HTTP ${statusCode}`);
  return (await body.json()) as Offer;
}

/** The control plane, or the reason why it is not available. */
export async function findAndStart(): Promise<ControlPlane | string> {
  const found = await findControlPlane();
  if (found.state === "Missing") return found.problem;
  return startControlPlane({ file: found.file }).catch(String);
}

function describeOffer(result: ControlPlane | string): Offer {
  if (typeof result === "string") return { state: "Missing", problem: result };
  const { url, caFile, adminToken, kubeconfig, directory, kubectl } = result;
  return { state: "Running", description: { url, caFile, adminToken, kubeconfig, directory, kubectl } };
}
