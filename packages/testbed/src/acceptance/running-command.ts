import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { eventually } from "./acceptance-bed.ts";

/** What a running command has said once it matches; what it said before this was called does not count. */
export async function said(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let heard = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      heard += chunk.toString("utf8");
    });
  }
  return eventually(`it says ${pattern}`, async () => {
    const match = pattern.exec(heard);
    if (match === null && child.exitCode !== null) throw new Error(`it ended: ${heard}`);
    return match ?? undefined;
  });
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** What a web server at a port of this machine answers. */
export async function page(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write("GET / HTTP/1.0\r\n\r\n");
  return text(socket);
}
