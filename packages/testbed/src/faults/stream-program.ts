// Runs in a pod's network namespace: serves a numbered connection (9000) and echoes datagrams (9001), and does what lines of
// JSON on its input ask for. What it has seen it prints when it is asked.
import { createSocket } from "node:dgram";
import { connect, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Attempt } from "./black-hole.ts";
import { NumberedStream } from "./numbered-stream.ts";
import { DATAGRAM_PORT, type LongReport, type Order, STREAM_PORT } from "./orders.ts";

const EVERY_MS = 20;
/** What is on its way and not taken; more would only fill memory while a link is cut. */
const MOST_WAITING = 1 << 20;

/** Sends records as long as the connection lives. */
function carry(socket: Socket, stream: NumberedStream): void {
  socket.setNoDelay(true);
  // It must not be what ends the connection while a path is away.
  socket.setKeepAlive(false);
  const timer = setInterval(() => {
    if (socket.writable && socket.writableLength < MOST_WAITING) socket.write(stream.next());
  }, EVERY_MS);
  socket.on("data", (bytes) => {
    stream.take(bytes);
    if (stream.fault !== undefined) socket.destroy(new Error(stream.fault));
  });
  socket.on("close", () => clearInterval(timer));
  socket.on("error", () => {});
}

const reports = new Map<string, (from: number) => object>();
/** What was seen before is forgotten. */
const resets = new Map<string, () => void>();
const ends = new Map<string, () => void>();

/** Of ten minutes there are tens of thousands: whoever asks ten times a second for all of them would keep this program from what it measures. */
function begun<T extends { readonly at: number }>(attempts: readonly T[], from: number): readonly T[] {
  return from === 0 ? attempts : attempts.slice(attempts.findLastIndex(({ at }) => at < from) + 1);
}

function long({ id, host }: Order): void {
  const stream = new NumberedStream();
  const socket = connect({ host, port: STREAM_PORT });
  let end: string | undefined;
  let longestSilenceMs = 0;
  let heardAt = performance.now();
  let broken: string | undefined;
  socket.on("error", (error: NodeJS.ErrnoException) => {
    broken = error.code ?? error.message;
  });
  socket.on("data", () => {
    longestSilenceMs = Math.max(longestSilenceMs, performance.now() - heardAt);
    heardAt = performance.now();
  });
  socket.on("close", () => {
    end = broken ?? "closed by the other side";
  });
  carry(socket, stream);
  reports.set(id, (): LongReport => {
    const { sent, received, confirmed, fault } = stream;
    const problem = fault ?? end;
    const report = { sent, received, confirmed, longestSilenceMs, silentMs: performance.now() - heardAt };
    return { ...report, ...(problem !== undefined && { problem }) };
  });
  resets.set(id, () => {
    longestSilenceMs = 0;
  });
  ends.set(id, () => socket.destroy());
}

function datagrams({ id, host, everyMs = EVERY_MS }: Order): void {
  const socket = createSocket("udp4");
  const sent = new Map<number, number>();
  let attempts: { at: number; ms?: number }[] = [];
  const byNumber = new Map<number, { at: number; ms?: number }>();
  let number = 0;
  let doubled = 0;
  socket.on("message", (bytes) => {
    const which = bytes.readUInt32BE(0);
    const attempt = byNumber.get(which);
    const at = sent.get(which);
    if (attempt === undefined || at === undefined) return;
    if (attempt.ms !== undefined) doubled++;
    attempt.ms = performance.now() - at;
  });
  socket.on("error", () => {});
  const timer = setInterval(() => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(++number);
    const attempt = { at: Date.now() };
    attempts.push(attempt);
    byNumber.set(number, attempt);
    sent.set(number, performance.now());
    socket.send(bytes, DATAGRAM_PORT, host, () => {});
  }, everyMs);
  reports.set(id, (from) => ({ attempts: begun(attempts, from), doubled }));
  resets.set(id, () => {
    attempts = [];
  });
  ends.set(id, () => {
    clearInterval(timer);
    socket.close();
  });
}

/** New connections, one after the other and side by side. */
function ask({ id, host, port = 80, path = "/", everyMs = 100, patienceMs = 3_000 }: Order): void {
  let attempts: Attempt[] = [];
  const timer = setInterval(() => {
    const attempt: { at: number; ms?: number; by?: string; port?: number } = { at: Date.now() };
    const began = performance.now();
    attempts.push(attempt);
    const socket = connect({ host, port });
    let text = "";
    let isConnected = false;
    const fail = (why: string) => {
      attempt.port ??= socket.localPort ?? 0;
      attempt.by ??= why;
      socket.destroy();
    };
    const giveUp = () => fail(isConnected ? "NO ANSWER" : "TIMEOUT");
    socket.setTimeout(patienceMs, giveUp);
    socket.on("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    socket.on("connect", () => {
      isConnected = true;
      socket.write(`GET ${path} HTTP/1.0\r\n\r\n`);
    });
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("end", () => {
      const [status = "", ...lines] = text.trim().split(/\r?\n/);
      if (!/ 200 /.test(status)) return fail(status === "" ? "EMPTY" : status);
      attempt.ms = performance.now() - began;
      attempt.by ??= lines.at(-1) ?? "";
    });
    setTimeout(giveUp, patienceMs).unref();
  }, everyMs);
  reports.set(id, (from) => ({ attempts: begun(attempts, from) }));
  resets.set(id, () => {
    attempts = [];
  });
  ends.set(id, () => clearInterval(timer));
}

const begin = { long, datagrams, ask } as const;

function obey(order: Order): void {
  if (order.do === "report")
    process.stdout.write(`${JSON.stringify({ id: order.id, ...reports.get(order.id)?.(order.from ?? 0) })}\n`);
  else if (order.do === "reset") resets.get(order.id)?.();
  else if (order.do === "end") {
    ends.get(order.id)?.();
    ends.delete(order.id);
    reports.delete(order.id);
  } else begin[order.do](order);
}

const echo = createSocket("udp4");
echo.on("message", (bytes, from) => echo.send(bytes, from.port, from.address, () => {}));
echo.bind(DATAGRAM_PORT);
const server = createServer((socket) => carry(socket, new NumberedStream()));
server.listen(STREAM_PORT, "0.0.0.0", () => process.stdout.write(`${JSON.stringify({ id: "ready" })}\n`));
createInterface({ input: process.stdin })
  .on("line", (line) => obey(JSON.parse(line) as Order))
  .on("close", () => process.exit(0));
