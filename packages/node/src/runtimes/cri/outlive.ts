import { spawn } from "node:child_process";
import type { Socket } from "node:net";

/**
 * Keeps a connection open for some seconds after this process has died, so that the server does not give up what it was
 * asked for: a small process shares the socket, and ends when this one wants it to or has been gone for so long. Where
 * there is no shell the connection ends with this process.
 */
export function outlive(socket: Socket, seconds: number): () => void {
  // By its number: a stream that is given to a child is no longer read here.
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle;
  const child = spawn("/bin/sh", ["-c", `read -r _; exec sleep ${seconds}`], {
    // Not below 3, where a child makes what it shares blocking.
    stdio: ["pipe", "ignore", "ignore", fd],
    // A signal to the group of this process, as by Ctrl-C, is not for it.
    detached: true,
  });
  child.on("error", () => {});
  child.stdin?.on("error", () => {});
  child.unref();
  (child.stdin as Socket | null)?.unref();
  return () => child.kill("SIGKILL");
}
