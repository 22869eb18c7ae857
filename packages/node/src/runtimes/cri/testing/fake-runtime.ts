import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FrameReader, frame } from "../grpc/grpc-frames.ts";
import { decode } from "../proto/decode.ts";
import { encode } from "../proto/encode.ts";
import type { Init, Method } from "../proto/message.ts";

/** Thrown by an answer: the call fails so. */
export class Refusal {
  readonly status: number;
  readonly message: string;

  constructor(status: number, message: string) {
    this.status = status;
    this.message = message;
  }
}

/** A runtime on a socket that answers as a test says, and counts. What it has no answer for is not implemented. */
export class FakeRuntime implements AsyncDisposable {
  readonly calls = new Map<string, number>();
  readonly #answers = new Map<string, (stream: ServerHttp2Stream, message: Buffer) => void>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #server = createServer();
  #directory = "";

  static async start(): Promise<FakeRuntime> {
    const runtime = new FakeRuntime();
    runtime.#directory = await mkdtemp(join(tmpdir(), "fake-cri-"));
    runtime.#server.on("session", (session) => runtime.#sessions.add(session));
    runtime.#server.on("stream", (stream, headers) => runtime.#take(stream, String(headers[":path"])));
    await new Promise<void>((resolve) => runtime.#server.listen(runtime.socket, resolve));
    return runtime;
  }

  get socket(): string {
    return join(this.#directory, "s");
  }

  /** How often a method was called. */
  count(method: Method<never, never> | { readonly path: string }): number {
    return this.calls.get(method.path) ?? 0;
  }

  answer<I, O>(method: Method<I, O>, answer: (request: I) => Init<O>): void {
    this.#answers.set(method.path, (stream, message) => {
      try {
        const bytes = encode(method.output, answer(decode(method.input, message)));
        respond(stream, "0");
        stream.end(frame(bytes));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        respond(stream, String(error.status), error.message);
        stream.end();
      }
    });
  }

  /** Answers by a stream; the function returned sends a message to all that listen. */
  streams<I, O>(method: Method<I, O>): (message: Init<O>) => void {
    const listeners = new Set<ServerHttp2Stream>();
    this.#answers.set(method.path, (stream) => {
      respond(stream, "0");
      listeners.add(stream);
      stream.once("close", () => listeners.delete(stream));
    });
    return (message) => {
      for (const stream of listeners) stream.write(frame(encode(method.output, message)));
    };
  }

  /** Ends all connections; new ones are taken. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
    this.#sessions.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const session of this.#sessions) session.destroy();
    await closed;
    await rm(this.#directory, { recursive: true });
  }

  #take(stream: ServerHttp2Stream, path: string): void {
    this.calls.set(path, (this.calls.get(path) ?? 0) + 1);
    const reader = new FrameReader(1e8);
    stream.on("error", () => {});
    stream.on("data", (piece: Buffer) => {
      for (const message of reader.push(piece)) {
        const answer = this.#answers.get(path);
        if (answer !== undefined) answer(stream, message);
        else {
          respond(stream, "12", `unknown method ${path}`);
          stream.end();
        }
      }
    });
  }
}

function respond(stream: ServerHttp2Stream, status: string, message = ""): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status, "grpc-message": encodeURI(message) }));
}
