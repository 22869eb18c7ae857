import { once } from "node:events";
import { connect, type SecureContext, type TLSSocket } from "node:tls";
import { AnswerReader } from "./answer-reader.ts";

/** One TLS connection that is kept, with one request under way: HTTP/1.1 and no more of it than load needs. */
export class Connection {
  readonly #socket: TLSSocket;
  readonly #reader = new AnswerReader();
  #settle: { resolve(status: number): void; reject(error: Error): void } | undefined;
  #ended: Error | undefined;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (bytes: Buffer) => {
      const status = this.#reader.read(bytes);
      if (status === undefined) return;
      const settle = this.#settle;
      this.#settle = undefined;
      settle?.resolve(status);
    });
    const failed = (error: Error) => {
      this.#ended ??= error;
      this.#settle?.reject(error);
      this.#settle = undefined;
    };
    socket.on("error", failed);
    socket.on("close", () => failed(new Error("the server has closed the connection")));
  }

  static async open(host: string, port: number, secureContext: SecureContext): Promise<Connection> {
    const socket = connect({ host, port, secureContext, ALPNProtocols: ["http/1.1"] });
    await once(socket, "secureConnect");
    socket.setNoDelay(true);
    return new Connection(socket);
  }

  /** Bytes of all bodies so far. */
  get bytes(): number {
    return this.#reader.bytes;
  }

  /** Sends one request; gives the status when the whole answer is there. */
  request(bytes: Buffer): Promise<number> {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** A watch: after its head, every line is an event, and only counted. */
export class WatchConnection {
  readonly #socket: TLSSocket;
  bytes = 0;
  events = 0;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
  }

  /** Resolves when the server has begun to answer. `counted` is called whenever there may be more events. */
  static async open(
    host: string,
    port: number,
    secureContext: SecureContext,
    request: Buffer,
    counted: (watch: WatchConnection) => void,
  ): Promise<WatchConnection> {
    const socket = connect({ host, port, secureContext, ALPNProtocols: ["http/1.1"] });
    await once(socket, "secureConnect");
    const watch = new WatchConnection(socket);
    socket.write(request);
    const [head] = (await once(socket, "data")) as [Buffer];
    if (!head.toString("latin1", 0, 32).startsWith("HTTP/1.1 200")) throw new Error(`a watch was refused: ${head}`);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) throw new Error("a watch was answered in pieces too small to be read");
    let last = 0;
    const read = (bytes: Buffer) => {
      watch.bytes += bytes.length;
      // Lines of the chunks around events end with CR LF, those of events with LF alone.
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
        if ((at === 0 ? last : bytes[at - 1]) !== 13) watch.events++;
      }
      last = bytes[bytes.length - 1] ?? last;
      counted(watch);
    };
    read(head.subarray(end + 4));
    socket.on("data", read);
    socket.on("error", () => {});
    return watch;
  }

  close(): void {
    this.#socket.destroy();
  }
}
