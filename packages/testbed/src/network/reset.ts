import type { Socket } from "node:net";

/**
 * Ends a connection by RST where that can be, else by closing it. Node must not be asked to reset a socket whose end is
 * on its way out: the kernel handle is then never closed, and the process spins when it exits.
 */
export function reset(socket: Socket): void {
  if (socket.destroyed) return;
  // Bytes that nobody takes would hold back the reset for ever.
  if (socket.connecting || socket.writableLength > 0) socket.destroy();
  else if (!socket.writableEnded) socket.resetAndDestroy();
  else if (socket.writableFinished) socket.destroy();
  else socket.once("finish", () => socket.destroy());
}
