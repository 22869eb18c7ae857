import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { SpdyConnection, type SpdyStream } from "../../../spdy/index.ts";
import { joinCommand } from "./remote-command.ts";
import { dialHost } from "./stream-server.ts";

type Streams = Map<string | undefined, SpdyStream>;

/** A server of streams on a real socket, which has its say once `count` streams are open; and a connection to it. */
async function joined(t: TestContext, count: number, say: (streams: Streams, socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    const streams: Streams = new Map();
    const onStream = (stream: SpdyStream) => {
      streams.set(stream.headers.streamtype, stream);
      if (streams.size === count) say(streams, socket);
    };
    new SpdyConnection(socket, { role: "server", onStream, announceWindows: false });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return new SpdyConnection(dialHost("127.0.0.1", port), { role: "client", announceWindows: false });
}

const accept = (streams: Streams) => {
  for (const stream of streams.values()) stream.accept();
};

function sayAndHangUp(streams: Streams, socket: Socket): void {
  streams.get("stdout")?.write("127.0.0.1 localhost\n");
  streams.get("error")?.write(JSON.stringify({ status: "Success" }));
  socket.destroy();
}

test("what a command said is read, though its input can no longer be written", async (t) => {
  for (let round = 0; round < 10; round++) {
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    stdin.write("begin");
    const connection = await joined(t, 3, (streams, socket) => {
      accept(streams);
      streams.get("stdin")?.once("data", () => {
        sayAndHangUp(streams, socket);
        // Before anything of it can have been read.
        for (let more = 0; more < 3; more++) stdin.write("more");
      });
    });
    assert.deepEqual(await joinCommand(connection, { stdin, stdout, tty: false }), { exitCode: 0 });
    assert.equal(await text(stdout), "127.0.0.1 localhost\n");
  }
});
