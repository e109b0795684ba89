// A TCP proxy that acts as the network between the operator and the API server: it can close connections, refuse new ones,
// or keep them open without forwarding data.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface UnreliableProxy {
  readonly port: number;
  /** The number of accepted connections. */
  accepted(): number;
  /** Stops forwarding data on open and new connections, without closing them. */
  fallSilent(): void;
  /** Closes every connection, and each new one immediately. */
  goDown(): void;
  comeUp(): void;
  close(): Promise<void>;
}

export async function startUnreliableProxy(targetPort: number): Promise<UnreliableProxy> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  let silent = false;
  let down = false;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    accepted += 1;
    keep(near);
    if (down) near.destroy();
    if (silent || down) return;
    const far = connect(targetPort, "127.0.0.1");
    keep(far);
    near.pipe(far).pipe(near);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    accepted: () => accepted,
    fallSilent: () => {
      silent = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    goDown: () => {
      down = true;
      cut();
    },
    comeUp: () => {
      down = false;
    },
    close: async () => {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
}
