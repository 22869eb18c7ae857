import type { Duplex } from "node:stream";

/**
 * Has a server of Node's read an encrypted connection as a stream. Left to itself, its parser takes what TLS has decrypted
 * from beneath, also while it waits for a large answer to be gone: a large request that came right after that was no
 * HTTP then (HPE_PAUSED). For `secureConnection`, after the server's own listener.
 */
export function readAsStream(socket: Duplex): void {
  const nobody = () => {};
  socket.on("data", nobody);
  socket.off("data", nobody);
}
