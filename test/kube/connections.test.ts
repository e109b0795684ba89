import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { createApiServer } from "../../src/kube/api-server.ts";
import { clusterCredentials } from "../support/builders/cluster-credentials.ts";
import { within } from "../support/processes/slowness.ts";

test("closing ends connections that are still being opened, so that the process can end", async () => {
  const accepted = Promise.withResolvers<Socket>();
  // Accepts connections but never sends anything, so the TLS handshake stays open.
  const silent = createServer((socket) => accepted.resolve(socket.resume().on("error", () => undefined)));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const credentials = clusterCredentials({ server: `https://127.0.0.1:${port}`, token: "any" });
  const api = createApiServer({ credentials, clock: realClock });
  const asked = api.request({ method: "GET", path: "/version", timeoutMs: 60_000 });
  const socket = await accepted.promise;
  const closed = once(socket, "close");
  api.close();
  expect((await asked).ok).toBe(false);
  // Otherwise, the timeout of ten seconds would have to pass.
  await within(5_000, async () => await closed);
  socket.destroy();
  silent.close();
});
