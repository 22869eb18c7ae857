import { readdir, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";

/** Where wireguard-go has its sockets: one folder for all network namespaces. */
export const WIREGUARD_SOCKETS = "/var/run/wireguard";
/** One that is being made may not be listened on for a moment. */
const YOUNG_MS = 60_000;

/** Removes sockets that nobody listens on any more: whoever is killed leaves them behind. */
export async function removeDeadSockets(folder = WIREGUARD_SOCKETS, now = Date.now()): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (!found?.isSocket() || now - found.mtimeMs < YOUNG_MS || !(await isDead(path))) return;
      // Somebody else may be removing it too.
      await rm(path, { force: true });
    }),
  );
}

function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(false));
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
    socket.once("connect", () => socket.destroy());
  });
}
