// Which requests of one key run at this moment. A request is in flight from its arrival until the first byte of its answer
// is written, or until its client hangs up. A client that gave a request up and sends the next one is not overlapping: its
// hanging up may be noticed a moment after the new request, so arrivals wait a few turns of the event loop for that.
import { setImmediate as nextTurn } from "node:timers/promises";

const turnsToNotice = 8;

export interface Flight {
  ended: boolean;
  /** The client closed the connection before it was answered. */
  hungUp: boolean;
}

export class InFlight {
  readonly #flights = new Set<Flight>();
  /** The most requests that were in flight at once. */
  max = 0;
  /** Requests that arrived while another one was in flight. */
  overlaps = 0;

  get count(): number {
    return this.#flights.size;
  }

  /**
   * @param onClose is handed what must be called when the connection closes, be it after the answer
   * @returns the new flight, and whether it overlaps another one
   */
  async begin(onClose: (hangUp: () => void) => void): Promise<{ flight: Flight; overlapping: boolean }> {
    const others = [...this.#flights];
    const flight: Flight = { ended: false, hungUp: false };
    this.#flights.add(flight);
    onClose(() => this.#hangUp(flight));
    for (let turn = 0; turn < turnsToNotice && others.some(({ hungUp }) => !hungUp); turn += 1) await nextTurn();
    const overlapped = others.filter(({ hungUp }) => !hungUp).length;
    this.max = Math.max(this.max, overlapped + 1);
    if (overlapped > 0) this.overlaps += 1;
    return { flight, overlapping: overlapped > 0 };
  }

  end(flight: Flight): void {
    flight.ended = true;
    this.#flights.delete(flight);
  }

  /** The connection is gone. Nothing changes for a request that was answered. */
  #hangUp(flight: Flight): void {
    if (flight.ended) return;
    flight.hungUp = true;
    this.end(flight);
  }
}
