import { expect, test } from "@jest/globals";
import { cutText, EventAggregate, messageBytesMax } from "../../src/kube/event-recorder.ts";
import type { EventNote } from "../../src/kube/event-recorder.ts";

const object = { apiVersion: "test.dev/v1", kind: "Widget", namespace: "default", name: "w", uid: "u1" };
const note = (more: Partial<EventNote> = {}): EventNote => ({
  object,
  type: "Normal",
  reason: "Added",
  message: "Added an entry",
  ...more,
});

test("notes that differ in object, type, reason or message are different events", () => {
  const aggregate = new EventAggregate(Math.random);
  const notes = [
    note(),
    note({ type: "Warning" }),
    note({ reason: "Removed" }),
    note({ message: "Added another entry" }),
    note({ object: { ...object, uid: "u2" } }),
  ];
  expect(new Set(notes.map((each) => aggregate.add(each, 0).key)).size).toBe(notes.length);
  expect(aggregate.add(note(), 5)).toMatchObject({ count: 2, firstMs: 0, lastMs: 5 });
});

test("a long message is truncated, but never within a character", () => {
  const aggregate = new EventAggregate(Math.random);
  const { message } = aggregate.add(note({ message: "x".repeat(5_000) }), 0);
  expect(Buffer.byteLength(message)).toBe(messageBytesMax);
  expect(message.endsWith("x…")).toBe(true);
  expect(cutText("ab😀cd", 7)).toBe("ab…");
  expect(cutText("ab😀", 6)).toBe("ab😀");
});

test("the name of an event is not longer than Kubernetes allows", () => {
  const aggregate = new EventAggregate(() => 0.999_999);
  const { name } = aggregate.add(note({ object: { ...object, name: "n".repeat(253) } }), Date.UTC(2040, 0, 1));
  expect(name.length).toBeLessThanOrEqual(253);
});
