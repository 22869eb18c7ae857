import type { Duplex, Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { SpdyConnection } from "../../../spdy/index.ts";

export const PORT_PROTOCOL = "portforward.k8s.io";

/**
 * Joins a stream with a port, until the port's side has ended or the stream has gone. Gives what the runtime has to say
 * if it cannot, such as that nothing listens there.
 */
export async function joinPort(connection: SpdyConnection, port: number, stream: Duplex): Promise<string | undefined> {
  const headers = { port: String(port), requestid: "0" };
  const errors = connection.open({ ...headers, streamtype: "error" });
  errors.end();
  const data = connection.open({ ...headers, streamtype: "data" });
  let problem = "";
  errors.setEncoding("utf8").on("data", (text: string) => {
    problem += text;
  });
  const gone = () => connection.destroy();
  stream.once("close", gone);
  try {
    stream.pipe(data);
    data.pipe(stream);
    await ended(data);
    // It says why right before it closes the rest.
    await ended(errors);
    return problem === "" ? undefined : problem.trim();
  } finally {
    stream.off("close", gone);
    stream.unpipe(data);
    stream.end();
    connection.destroy();
  }
}

/** However it ends: what that means is for others to say. */
function ended(stream: Readable): Promise<void> {
  return stream.closed || stream.readableEnded
    ? Promise.resolve()
    : finished(stream, { writable: false }).catch(() => {});
}
