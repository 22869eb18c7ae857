import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { type Duplex, duplexPair, PassThrough, Readable, Writable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { silentLogger } from "@fjord/base";
import { WebSocket, WebSocketServer } from "ws";
import { commandStatus, encodeStatus } from "./command-status.ts";
import type { CommandStreams, TerminalSize } from "./command-streams.ts";
import {
  acceptSpdyCommand,
  acceptWebSocketCommand,
  execOverSpdy,
  type Forward,
  finished,
  portForwardOverSpdy,
  pour,
  serveCommand,
  servePortForward,
  servePortForwardChannels,
} from "./index.ts";
import { SizeParser, SizeQueue } from "./terminal-sizes.ts";

type Run = (streams: CommandStreams, signal: AbortSignal) => Promise<number>;

let server: Server;
let url: string;
/** What the next command does. */
let run: Run;
let forward: Forward;
// Longer than this process, which is both ends, may stand still.
const options = { action: "run a command", streamTimeoutMs: 60_000, log: silentLogger };
const webSockets = new WebSocketServer({ noServer: true, handleProtocols: (names) => [...names][0] ?? false });

before(async () => {
  server = createServer((_request, response) => response.writeHead(418).end("a teapot"));
  server.on("upgrade", async (request, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    const { searchParams: query, pathname } = new URL(request.url ?? "", "http://x");
    const tty = query.has("tty");
    const wanted = { stdin: query.has("stdin"), stdout: query.has("stdout"), stderr: query.has("stderr"), tty };
    if (request.headers.upgrade === "websocket") {
      webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        if (pathname === "/ports")
          servePortForwardChannels(webSocket, query.getAll("port").map(Number), forward, options);
        else serveCommand(acceptWebSocketCommand(webSocket, wanted), tty, run, silentLogger);
      });
      return;
    }
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
    if (pathname === "/ports") return await servePortForward(socket, forward, options);
    const connection = await acceptSpdyCommand(socket, "v4.channel.k8s.io", wanted, options).catch(() => undefined);
    if (connection !== undefined) await serveCommand(connection, tty, run, silentLogger);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

after(() => {
  server.close();
  server.closeAllConnections();
});

function collector(): { sink: Writable; bytes(): Buffer } {
  const parts: Buffer[] = [];
  const sink = new Writable({
    write(data, _encoding, done) {
      parts.push(data);
      done();
    },
  });
  return { sink, bytes: () => Buffer.concat(parts) };
}

test("a command gets its input, gives its output, and its exit code is told", async () => {
  run = async ({ stdin, stdout, stderr }) => {
    const hash = createHash("sha256").update(await buffer(stdin as Readable));
    stderr?.end("warning");
    stdout?.end(hash.digest("hex"));
    return 7;
  };
  const input = randomBytes(3_000_000);
  const [out, err] = [collector(), collector()];
  const streams = { stdin: Readable.from([input]), stdout: out.sink, stderr: err.sink, tty: false };
  assert.equal(await execOverSpdy(`${url}/exec?stdin&stdout&stderr`, streams, options), 7);
  assert.equal(out.bytes().toString(), createHash("sha256").update(input).digest("hex"));
  assert.equal(err.bytes().toString(), "warning");
  assert.ok(out.sink.writableFinished && err.sink.writableFinished);
});

test("all output arrives before the exit code, however slowly it is taken", async () => {
  run = async ({ stdout }) => {
    stdout?.end(Buffer.alloc(2_000_000, "x"));
    return 0;
  };
  let size = 0;
  const slow = new Writable({
    highWaterMark: 1000,
    write(data: Buffer, _encoding, done) {
      size += data.length;
      setImmediate(done);
    },
  });
  assert.equal(await execOverSpdy(`${url}/exec?stdout`, { stdout: slow, tty: false }, options), 0);
  assert.equal(size, 2_000_000);
});

test("a command that leaves its input unread ends all the same", async () => {
  run = async ({ stdout }) => {
    stdout?.end("done");
    return 0;
  };
  const { sink, bytes } = collector();
  const stdin = Readable.from([Buffer.alloc(5_000_000)]);
  assert.equal(await execOverSpdy(`${url}/exec?stdin&stdout`, { stdin, stdout: sink, tty: false }, options), 0);
  assert.equal(bytes().toString(), "done");
});

test("why a command could not be run is told", async () => {
  run = () => Promise.reject(new Error("no such program"));
  await assert.rejects(
    execOverSpdy(`${url}/exec?stdout`, { stdout: new PassThrough(), tty: false }, options),
    /no such program/,
  );
});

test("a server that does not know streams, or is not there, is named", async () => {
  const refused = execOverSpdy(`${url.replace(/\d+$/, "1")}/exec?secret=1`, { tty: false }, options);
  await assert.rejects(refused, (error: Error & { code?: string }) => {
    assert.equal(error.code, "STREAM_UNREACHABLE");
    assert.ok(!error.message.includes("secret"));
    return true;
  });
});

test("sizes of the terminal arrive, the latest at least", async () => {
  const seen: TerminalSize[] = [];
  run = async ({ sizes, stdout }) => {
    for await (const size of sizes ?? []) {
      seen.push(size);
      if (size.columns === 99) break;
    }
    stdout?.end();
    return 0;
  };
  const sizes = new SizeQueue();
  sizes.push({ columns: 80, rows: 24 });
  setImmediate(() => sizes.push({ columns: 99, rows: 33 }));
  const stdout = new PassThrough();
  stdout.resume();
  assert.equal(await execOverSpdy(`${url}/exec?stdout&tty`, { stdout, tty: true, sizes }, options), 0);
  assert.deepEqual(seen.at(-1), { columns: 99, rows: 33 });
});

test("sizes are found however they are cut, and nonsense among them is left out", () => {
  const parser = new SizeParser();
  assert.deepEqual(parser.push('{"Width":80,"Hei'), []);
  assert.deepEqual(parser.push('ght":24}\n{"Width":1,"Height":2}{"Width":-1,"Height":2}{x}'), [
    { columns: 80, rows: 24 },
    { columns: 1, rows: 2 },
  ]);
  assert.deepEqual(parser.push("x".repeat(5000)), []);
  assert.deepEqual(parser.push('{"Width":3,"Height":4}'), [{ columns: 3, rows: 4 }]);
});

test("how a command went is told as Kubernetes tells it", () => {
  assert.deepEqual(commandStatus({ exitCode: 0 }), { metadata: {}, status: "Success" });
  assert.deepEqual(commandStatus({ exitCode: 3 }).details, { causes: [{ reason: "ExitCode", message: "3" }] });
  assert.equal(commandStatus({ error: new Error("x") }).message, "x");
  assert.equal(encodeStatus({ exitCode: 0 }, "channel.k8s.io"), "");
  assert.match(encodeStatus({ exitCode: 3 }, "v3.channel.k8s.io"), /^command terminated with non-zero exit code: 3$/);
  assert.equal(JSON.parse(encodeStatus({ exitCode: 0 }, "v5.channel.k8s.io")).status, "Success");
});

test("a hundred commands at once do not mix", async () => {
  run = async ({ stdin, stdout }) => {
    stdout?.end(await buffer(stdin as Readable));
    return 0;
  };
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      const bytes = randomBytes(50_000);
      const out = collector();
      const streams = { stdin: Readable.from([bytes]), stdout: out.sink, tty: false };
      assert.equal(await execOverSpdy(`${url}/exec?stdin&stdout`, streams, options), 0);
      assert.ok(out.bytes().equals(bytes));
    }),
  );
});

async function speak(path: string, protocol: string) {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, [protocol]);
  const channels = new Map<number, string>();
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  socket.on("message", (data: Buffer) => {
    const channel = data[0] ?? 0;
    channels.set(channel, (channels.get(channel) ?? "") + data.toString("latin1", 1));
  });
  await once(socket, "open");
  return { socket, channels, closed };
}

test("over WebSocket a client can end its input, from the fifth version on", async () => {
  run = async ({ stdin, stdout }) => {
    stdout?.end(`heard ${await text(stdin as Readable)}`);
    return 4;
  };
  const { socket, channels, closed } = await speak("/exec?stdin&stdout", "v5.channel.k8s.io");
  socket.send(Buffer.from("\0hello"));
  socket.send(Buffer.from([255, 0]));
  assert.equal(await closed, 1000);
  assert.equal(channels.get(1), "heard hello");
  assert.equal(JSON.parse(channels.get(3) ?? "").details.causes[0].message, "4");
  assert.ok(!channels.has(255));
});

test("over WebSocket a command is aborted when its client goes", async () => {
  const ended = Promise.withResolvers<void>();
  run = async ({ stdin }, signal) => {
    for await (const _ of stdin ?? []);
    assert.ok(signal.aborted);
    ended.resolve();
    return 0;
  };
  const { socket } = await speak("/exec?stdin&stdout", "v4.channel.k8s.io");
  socket.terminate();
  await ended.promise;
});

/** An echo in capitals, on a port of this machine. */
async function shouter(): Promise<{ port: number; close(): void }> {
  const listener = createTcpServer({ allowHalfOpen: true }, async (socket) => {
    socket.end(String(await buffer(socket)).toUpperCase());
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  return { port: (listener.address() as AddressInfo).port, close: () => void listener.close() };
}

const toLoopback: Forward = async (port, stream, signal) => {
  const target = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  await new Promise((resolve, reject) => target.once("connect", resolve).once("error", reject));
  signal.addEventListener("abort", () => target.destroy());
  pour(stream, target).then(() => target.end());
  await pour(target, stream);
  stream.end();
  await finished(stream);
};

test("ports are reached over SPDY, half-closed connections too", async () => {
  forward = toLoopback;
  const target = await shouter();
  await Promise.all(
    ["one", "two", "x".repeat(500_000)].map(async (word) => {
      const [ours, theirs] = duplexPair();
      const done = portForwardOverSpdy(`${url}/ports`, target.port, theirs, options);
      ours.end(word);
      assert.equal(String(await buffer(ours)), word.toUpperCase());
      await done;
    }),
  );
  target.close();
});

test("a port on which nobody listens is told", async () => {
  forward = toLoopback;
  const [, theirs] = duplexPair();
  await assert.rejects(portForwardOverSpdy(`${url}/ports`, 1, theirs, options), /ECONNREFUSED/);
});

test("ports are reached over WebSocket, two channels each", async () => {
  forward = async (port, stream) => {
    const [word] = await once(stream, "data");
    if (port === 443) throw new Error("nobody there");
    stream.end(`port ${port} heard ${word}`);
    await finished(stream);
  };
  const { socket, channels, closed } = await speak("/ports?port=80&port=443", "v4.channel.k8s.io");
  socket.send(Buffer.from("\0hello"));
  socket.send(Buffer.from("\x02hello"));
  await closed;
  assert.equal(channels.get(0), "P\0port 80 heard hello");
  assert.equal(channels.get(1), "P\0");
  assert.equal(channels.get(2), "\xbb\x01");
  assert.match(channels.get(3) ?? "", /nobody there/);
});
