// Tracks which requests of one key are in flight: from their arrival until the first byte of the response is written, or until
// the client disconnects. A client that gives up a request and sends the next one does not overlap. Its disconnection may be
// noticed slightly after the new request, so a new request waits a few turns of the event loop.
import { setImmediate as nextTurn } from "node:timers/promises";

const turnsToNotice = 8;

export interface Flight {
  ended: boolean;
  /** The client closed the connection before the response. */
  hungUp: boolean;
}

export class InFlight {
  readonly #flights = new Set<Flight>();
  /** The maximum number of requests in flight at the same time. */
  max = 0;
  /** Requests that arrived while another one was in flight. */
  overlaps = 0;

  get count(): number {
    return this.#flights.size;
  }

  /**
   * @param onClose receives a function that must be called when the connection closes, even after the response
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

  /** The connection was closed. Has no effect on a request that was answered. */
  #hangUp(flight: Flight): void {
    if (flight.ended) return;
    flight.hungUp = true;
    this.end(flight);
  }
}
