import { expect, test } from "@jest/globals";
import { networkOf } from "../../src/model/client-network.ts";
import { readObservedEntry } from "../../src/model/entry.ts";

test.each([
  ["203.0.113.9", "203.0.113.0/24"],
  ["2001:db8:1:2:3::4", "2001:db8:1:2::/64"],
  ["::ffff:203.0.113.9", "203.0.113.0/24"],
  ["203.0.113.0/25", undefined],
  ["unknown, 203.0.113.9", undefined],
])("The network of the client %s is %s", (client, network) => {
  expect(networkOf(readObservedEntry(client))).toBe(network);
});
