import type { Duplex } from "node:stream";
import { onAbort } from "@fjord/base";
import type { SpdyStream } from "../spdy/index.ts";
import { type DialSpdyOptions, dialSpdy } from "./dial-spdy.ts";
import { PortUnreachable } from "./errors.ts";
import { finished, pour } from "./pour.ts";

const TEXT_LIMIT = 4096;

/** Joins a stream with a port behind a server of streams; resolves when either side has ended, and ends the stream. */
export async function portForwardOverSpdy(
  url: string | URL,
  port: number,
  stream: Duplex,
  options: Omit<DialSpdyOptions, "url" | "protocols">,
): Promise<void> {
  const { signal, action } = options;
  const { connection } = await dialSpdy({ ...options, url, protocols: ["portforward.k8s.io"] });
  const release = signal && onAbort(signal, () => connection.destroy());
  try {
    const headers = { port: String(port), requestid: "0" };
    const error = connection.open({ streamtype: "error", ...headers });
    error.end();
    const problem = read(error);
    const data = connection.open({ streamtype: "data", ...headers });
    await data.accepted;
    const gone = new Promise<void>((resolve) => stream.once("close", () => resolve()));
    stream.pipe(data);
    await Promise.race([pour(data, stream), gone]);
    signal?.throwIfAborted();
    const text = await Promise.race([problem, gone]);
    if (text) throw new PortUnreachable({ action, reason: text });
    stream.end();
    await finished(stream);
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    release?.();
    connection.close();
  }
}

async function read(stream: SpdyStream): Promise<string> {
  let text = "";
  try {
    for await (const part of stream) if (text.length < TEXT_LIMIT) text += part;
  } catch {
    // It is given up where there is nothing to say.
  }
  return text;
}
