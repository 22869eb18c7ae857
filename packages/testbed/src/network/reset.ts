import type { Socket } from "node:net";

/**
 * Ends a connection by RST where that can be, else by closing it. Node must not be asked to reset a socket whose end is
 * on its way out: its handle is then never closed, and the process spins when it exits.
 */
export function reset(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
