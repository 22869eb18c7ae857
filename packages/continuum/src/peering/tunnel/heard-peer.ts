import type { Socket } from "node:net";
import { type Clock, onAbort } from "@fjord/base";

/** A peer that asks about every second and then is silent for so long is cut off, or has stopped asking. */
const SILENCE_MS = 2_000;

/**
 * Listens to the connections that a peer has taken. When it falls silent, those that wait at it may be dead without anybody
 * having been told; they are replaced, which finds out.
 */
export class HeardPeer {
  readonly #served = new Set<Socket>();
  readonly #listeners = new Set<() => void>();
  #bytes = 0;
  #gone = 0;
  #speaks = false;

  constructor(clock: Clock, signal: AbortSignal) {
    let cancel = () => {};
    const look = () => {
      this.#look();
      cancel = clock.after(SILENCE_MS, look);
    };
    cancel = clock.after(SILENCE_MS, look);
    onAbort(signal, () => cancel());
  }

  listenTo(socket: Socket): void {
    this.#served.add(socket);
    socket.once("close", () => {
      this.#served.delete(socket);
      this.#gone += socket.bytesRead;
    });
  }

  /** Called once when the peer, which spoke before, has fallen silent. */
  onSilence(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #look(): void {
    let bytes = this.#gone;
    for (const socket of this.#served) bytes += socket.bytesRead;
    const speaks = bytes !== this.#bytes;
    this.#bytes = bytes;
    const fellSilent = this.#speaks && !speaks;
    this.#speaks = speaks;
    if (fellSilent) for (const listener of [...this.#listeners]) listener();
  }
}
