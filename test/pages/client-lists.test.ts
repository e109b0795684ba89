import { describe, expect, test } from "@jest/globals";
import { readObservedEntry } from "../../src/address/entry.ts";
import { addressesToBlock, type KnownLists, listStates, networksIn } from "../../src/pages/requests.ts";

function assessed(clients: readonly string[], known: KnownLists) {
  const stateOf = listStates(known);
  return clients.map(readObservedEntry).map((entry) => ({ entry, lists: stateOf(entry) }));
}

function statesOf(found: ReturnType<typeof assessed>): Record<string, unknown> {
  return Object.fromEntries(found.map(({ entry, lists }) => [entry, lists]));
}

describe("the lists", () => {
  const clients = ["192.0.2.1", "198.51.100.7", "2001:db8::1", "not an address"];

  test("contain a client as an address, within a network in any spelling, or not at all", () => {
    const found = assessed(clients, {
      blocklist: ["192.0.2.1/32", "198.51.100.99/24", "rubbish", "2001:db8:1::/48"],
      allowlist: ["198.51.100.0/28"],
    });
    expect(statesOf(found)).toStrictEqual({
      "192.0.2.1": { state: "Listed", words: "blocked" },
      "198.51.100.7": { state: "Listed", words: "blocked by 198.51.100.0/24, allowed by 198.51.100.0/28" },
      "2001:db8::1": { state: "NotListed", words: "not on a list" },
      "?not an address": { state: "NoAddress", words: "–" },
    });
    expect(addressesToBlock(found)).toStrictEqual(["2001:db8::1"]);
  });

  test("exclude from the rule clients on the allowlist, and addresses that are not on the public Internet", () => {
    const rows = [
      "198.51.100.7",
      "203.0.113.9",
      "10.0.0.9",
      "127.0.0.1",
      "0.0.0.0/0",
      "::/0",
      "10.0.0.0/8",
      "192.0.2.0/24",
      "fd00::1",
      "::1",
      "203.0.113.10",
    ];
    const found = assessed(rows, { blocklist: [], allowlist: ["198.51.100.0/24", "203.0.113.9"] });
    const states = statesOf(found);
    expect(states["198.51.100.7"]).toStrictEqual({ state: "Allowed", words: "allowed by 198.51.100.0/24" });
    expect(states["203.0.113.9"]).toStrictEqual({ state: "Allowed", words: "allowed" });
    expect(states["0.0.0.0/0"]).toMatchObject({ state: "NoAddress" });
    expect(addressesToBlock(found)).toStrictEqual(["203.0.113.10"]);
    expect(addressesToBlock(assessed(rows, { blocklist: [], allowlist: undefined }))).toStrictEqual([]);
  });

  test("exclude from the rule exempt clients and networks, and clients that a rule already blocks", () => {
    const rows = ["192.0.2.1", "198.51.100.7", "203.0.113.9", "203.0.113.10", "203.0.113.0/24"];
    const found = assessed(rows, {
      blocklist: [],
      allowlist: [],
      exempt: { "an Allow rule": networksIn(["192.0.2.0/28"]), neverBlock: networksIn(["203.0.113.9"]) },
      declared: networksIn(["198.51.100.0/24", "192.0.2.1"]),
    });
    expect(statesOf(found)).toStrictEqual({
      "192.0.2.1": { state: "Exempt", words: "exempt (an Allow rule)" },
      "198.51.100.7": { state: "Declared", words: "declared, not blocked yet" },
      "203.0.113.9": { state: "Exempt", words: "exempt (neverBlock)" },
      "203.0.113.10": { state: "NotListed", words: "not on a list" },
      "203.0.113.0/24": { state: "Exempt", words: "exempt (neverBlock)" },
    });
    expect(addressesToBlock(found)).toStrictEqual(["203.0.113.10"]);
  });

  test("that could not be read leave the state unknown, and no client is suggested", () => {
    const found = assessed(clients, { blocklist: undefined, allowlist: [] });
    expect(found.map(({ lists }) => lists.state).toSorted()).toStrictEqual([
      "NoAddress",
      "Unknown",
      "Unknown",
      "Unknown",
    ]);
    expect(addressesToBlock(found)).toStrictEqual([]);
  });
});
