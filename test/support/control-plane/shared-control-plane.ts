// One control plane for a whole test run. The process that starts jest offers it on the loopback
// interface. It starts when the first suite requests it, so other runs do not start one.
import { randomUUID } from "node:crypto";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { ClusterDescription } from "./cluster-access.ts";
import { findControlPlane } from "./find.ts";
import type { ControlPlane, StartOptions } from "./start.ts";
import { startControlPlane } from "./start.ts";

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
  const listening = Promise.withResolvers<void>();
  server.on("error", listening.reject);
  server.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const { port } = server.address() as AddressInfo;
  return {
    environment: { [offerVariable]: `http://127.0.0.1:${port}${path}` },
    async withdraw() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      const result = await started;
      if (typeof result === "object") await result.stop();
    },
  };
}

/** Waits without a time limit, because the programs may have to be built first. */
export async function askForControlPlane(url: string): Promise<Offer> {
  const answered = Promise.withResolvers<Offer>();
  const asked = request(url, { agent: false }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part: string) => (text += part));
    response.on("error", answered.reject);
    response.on("end", () => {
      if (response.statusCode === 200) answered.resolve(JSON.parse(text) as Offer);
      else answered.reject(new Error(`the offer of a control plane ended with HTTP ${response.statusCode}`));
    });
  });
  asked.on("error", answered.reject);
  asked.end();
  return answered.promise;
}

/** The control plane, or the reason why it is not available. */
export async function findAndStart(options: Pick<StartOptions, "audits"> = {}): Promise<ControlPlane | string> {
  const found = await findControlPlane({ controllerManager: true });
  if (found.state === "Missing") return found.problem;
  return startControlPlane({ ...options, programs: found.programs, controllerManager: true }).catch(String);
}

function describeOffer(result: ControlPlane | string): Offer {
  if (typeof result === "string") return { state: "Missing", problem: result };
  const { url, caFile, adminToken, kubeconfig, directory, kubectl, controllerManager } = result;
  const description = { url, caFile, adminToken, kubeconfig, directory, kubectl, controllerManager };
  return { state: "Running", description };
}
