import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** A server for a test that writes whatever bytes it likes, once for each request that it sees the head of. */
export async function rawTestServer(answer: (socket: Socket, head: string) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A client that gives up resets the connection.
    socket.on("error", () => {});
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end === -1) return;
      const head = text.slice(0, end);
      text = "";
      answer(socket, head);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The open ones. */
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes the same bytes again and again until the connection is gone. */
export function drip(socket: Socket, text: string, everyMs = 10): void {
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.on("close", () => clearInterval(timer));
}

/** A whole answer. */
export function rawReply(socket: Socket, status: string, body: string | Buffer, headers = ""): void {
  socket.write(`HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n`);
  socket.write(body);
}
