// A simple and slow reference implementation of the keyed queue: one list that is searched completely.
import { ageingMs, queuePriorities } from "../../../src/async/keyed-queue.ts";
import type { QueuePriority } from "../../../src/async/keyed-queue.ts";

interface Row {
  key: string;
  state: "delayed" | "ready" | "running" | "running again";
  level: number;
  atMs: number;
  order: number;
}

export class ReferenceQueue {
  rows: Row[] = [];
  order = 0;
  shut = false;

  add(key: string, nowMs: number, atMs: number, priority: QueuePriority): void {
    this.promote(nowMs);
    if (this.shut) return;
    const level = queuePriorities.length - 1 - queuePriorities.indexOf(priority);
    const later = atMs > nowMs;
    const waiting = this.rows.find((row) => row.key === key && row.state !== "running");
    if (waiting !== undefined && later && (waiting.state !== "delayed" || waiting.atMs <= atMs)) return;
    const row = waiting ?? { key, state: "delayed", level: 0, atMs, order: 0 };
    if (waiting === undefined) this.rows.push(row);
    row.level = Math.max(row.level, level);
    if (row.state === "delayed") row.atMs = atMs;
    if (row.state === "delayed" && !later) this.wake(row);
  }

  promote(nowMs: number): void {
    const due = this.rows.filter((row) => row.state === "delayed" && row.atMs <= nowMs);
    for (const row of due.sort((a, b) => a.atMs - b.atMs)) this.wake(row);
  }

  wake(row: Row): void {
    const running = this.rows.some((other) => other.key === row.key && other.state === "running");
    row.state = running ? "running again" : "ready";
    row.order = this.order++;
  }

  take(nowMs: number): string | undefined {
    this.promote(nowMs);
    const rank = (row: Row): number => row.atMs - row.level * ageingMs;
    const ready = this.rows.filter((row) => row.state === "ready");
    const next = ready.sort((a, b) => rank(a) - rank(b) || a.order - b.order)[0];
    if (next !== undefined) next.state = "running";
    return next?.key;
  }

  done(key: string, nowMs: number): void {
    this.promote(nowMs);
    this.rows = this.rows.filter((row) => row.key !== key || row.state !== "running");
    const again = this.rows.find((row) => row.key === key && row.state === "running again");
    if (again === undefined) return;
    Object.assign(again, { state: "ready", atMs: nowMs, order: this.order++ });
  }

  shutDown(): void {
    this.shut = true;
    this.rows = this.rows.filter((row) => row.state === "running");
  }
}
