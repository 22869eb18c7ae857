import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Server } from "node:http";

const program = `
const server = require("node:net").createServer();
server.listen(0, "127.0.0.1", () => process.send("listening", server));
`;

/**
 * Listens on a free loopback port in the network of another process. A socket stays in the network that it was made in,
 * whoever has it: one is made by a child in there, and handed over.
 */
export async function listenInside(server: Server, pid: number | undefined): Promise<void> {
  if (pid === undefined) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return;
  }
  const command = ["--target", String(pid), "--net", "--", process.execPath, "-e", program];
  const child = spawn("nsenter", command, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const received = once(child, "message");
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(`cannot listen in the network of process ${pid}: nsenter ended with ${code}`);
  });
  failed.catch(() => {});
  const [, handle] = await Promise.race([received, failed]);
  const ended = once(child, "exit");
  child.kill();
  await ended;
  await new Promise<void>((resolve) => server.listen(handle, resolve));
}
