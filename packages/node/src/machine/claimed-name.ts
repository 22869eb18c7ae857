import { createServer, type Server } from "node:net";

/**
 * Claims a name for this process, until it ends or closes what is given: undefined where another process of the machine has
 * it. Sockets of such names are in no file system: the kernel shows them to all users, and removes them with their process.
 */
export function claimName(name: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(`\0${name}`, () => resolve(server));
    server.unref();
  });
}
