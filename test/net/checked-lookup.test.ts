import { type AddressInfo, connect, createServer, type LookupFunction, type Server } from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "@jest/globals";
import {
  isPublicAddress,
  addressRefused,
  createCheckedLookup,
  refusedLiteral,
  type ResolveHost,
} from "../../src/net/checked-lookup.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server on loopback that counts its connections. */
async function aServer() {
  const counted = { connections: 0, port: 0 };
  const server = createServer((socket) => {
    counted.connections += 1;
    socket.end();
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  counted.port = (server.address() as AddressInfo).port;
  return counted;
}

function answering(...answers: readonly (readonly string[])[]): ResolveHost & { asked: number } {
  const resolve: ResolveHost = (_, __, callback) => {
    const answer = answers[Math.min(counted.asked, answers.length - 1)] ?? [];
    counted.asked += 1;
    callback(
      null,
      answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  const counted = Object.assign(resolve, { asked: 0 });
  return counted;
}

/** The error code of the failed connection; undefined if it succeeds. */
async function connectBy(lookup: LookupFunction, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const socket = connect({ host: "waf.example", port, lookup });
  socket.on("connect", () => resolve(undefined));
  socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  const outcome = await promise;
  socket.destroy();
  return outcome;
}

async function askFor(lookup: LookupFunction, options: { all?: boolean; family?: number }): Promise<unknown[]> {
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  lookup("waf.example", options, (...outcome) => resolve(outcome));
  return await promise;
}

describe("A checked lookup", () => {
  test("rejects a name with one internal address among public ones, regardless of the order", async () => {
    const server = await aServer();
    for (const answer of [
      ["1.1.1.1", "127.0.0.1"],
      ["127.0.0.1", "1.1.1.1"],
      ["1.1.1.1", "::1"],
    ]) {
      expect(await connectBy(createCheckedLookup(isPublicAddress, answering(answer)), server.port)).toBe(
        addressRefused,
      );
    }
    expect(server.connections).toBe(0);
  });

  test("supports each form of result that Node.js requests", async () => {
    const lookup = createCheckedLookup(isPublicAddress, answering(["2606:4700::1", "1.1.1.1"]));
    expect(await askFor(lookup, {})).toStrictEqual([null, "2606:4700::1", 6]);
    expect(await askFor(lookup, { family: 4 })).toStrictEqual([null, "1.1.1.1", 4]);
    expect(await askFor(lookup, { all: true })).toStrictEqual([
      null,
      [
        { address: "2606:4700::1", family: 6 },
        { address: "1.1.1.1", family: 4 },
      ],
    ]);
  });

  test("passes on the error of the resolver, and treats an empty response as an error", async () => {
    const failing: ResolveHost = (_, __, callback) =>
      callback(Object.assign(new Error("no"), { code: "EAI_AGAIN" }), []);
    expect(await connectBy(createCheckedLookup(isPublicAddress, failing), 1)).toBe("EAI_AGAIN");
    expect(await connectBy(createCheckedLookup(isPublicAddress, answering([])), 1)).toBe("ENOTFOUND");
  });
});

describe("A host that is an address needs no lookup, and", () => {
  test.each(["127.0.0.1", "::1", "[::1]", "[::ffff:7f00:1]", "169.254.169.254"])("%s is refused", (host) => {
    expect(refusedLiteral(host, isPublicAddress)).toMatchObject({ code: addressRefused });
  });

  test.each(["1.1.1.1", "[2606:4700::1]", "waf.example", "localhost"])("%s is not refused as such", (host) => {
    expect(refusedLiteral(host, isPublicAddress)).toBeUndefined();
  });
});
