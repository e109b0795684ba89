// Free ports of the loopback interface. Another process may use one of them before the caller does,
// so the caller must be able to retry.
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** Returns this number of different ports. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen()));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function listen(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
