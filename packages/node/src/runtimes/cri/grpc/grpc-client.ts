import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { createConnection, type Socket } from "node:net";
import { type Clock, onAbort } from "@fjord/base";
import { FrameReader, frame } from "./grpc-frames.ts";
import { grpcStatus, statusOf, timeoutHeader } from "./grpc-status.ts";

export interface GrpcClientOptions {
  /** Path of the server's unix socket. */
  socket: string;
  clock: Clock;
  /** Bytes of the longest message that is taken. @default 64 MiB */
  maxMessage?: number;
  /** Told of each connection before anything is asked by it; what it returns is called when that is closed. */
  onConnect?: (socket: Socket) => () => void;
}

export interface GrpcCallOptions {
  /** Milliseconds after which the call is given up, on both sides. */
  timeout?: number;
  signal?: AbortSignal;
  headers?: Readonly<Record<string, string>>;
}

/** How a call has failed, in gRPC's terms. */
export class GrpcFailure extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "GrpcFailure";
    this.status = status;
  }
}

/** Room for a list of some hundred pods without a round trip to ask for more. */
const WINDOW = 1024 * 1024;

/**
 * Calls to a gRPC server on a unix socket: unary ones and streams from the server. One connection for all of them, made
 * when it is needed and made anew after it was lost; calls under way then fail as unavailable, and are not repeated.
 */
export class GrpcClient {
  readonly #options: GrpcClientOptions & { maxMessage: number };
  #session: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;

  constructor(options: GrpcClientOptions) {
    this.#options = { maxMessage: 64 * 1024 * 1024, ...options };
  }

  /** One message there, one back. `method` is a path: `/package.Service/Method`. */
  async unary(method: string, message: Uint8Array, options: GrpcCallOptions = {}): Promise<Uint8Array> {
    let answer: Uint8Array | undefined;
    await this.#call(method, message, options, (bytes) => {
      answer ??= bytes;
    });
    if (answer === undefined) throw new GrpcFailure(grpcStatus.internal, "an answer without a message");
    return answer;
  }

  /** Gives each message of the server to `onMessage`; resolves when the server has ended the stream well. */
  stream(
    method: string,
    message: Uint8Array,
    onMessage: (message: Uint8Array) => void,
    options: GrpcCallOptions = {},
  ): Promise<void> {
    return this.#call(method, message, options, onMessage);
  }

  /** Cuts the connection and every call with it. The next call makes a new one. */
  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  async #call(
    method: string,
    message: Uint8Array,
    options: GrpcCallOptions,
    onMessage: (message: Uint8Array) => void,
  ): Promise<void> {
    options.signal?.throwIfAborted();
    const session = await this.#connect();
    options.signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const stream = open(session, method, options);
      const cancels: (() => void)[] = [];
      const settle = (failure?: unknown) => {
        for (const cancel of cancels) cancel();
        if (failure === undefined) resolve();
        else reject(failure);
      };
      const giveUp = (failure: unknown) => {
        settle(failure);
        stream.close(constants.NGHTTP2_CANCEL);
      };
      if (options.timeout !== undefined) {
        const { timeout } = options;
        const late = () => giveUp(new GrpcFailure(grpcStatus.deadlineExceeded, `no answer within ${timeout / 1000} s`));
        cancels.push(this.#options.clock.after(timeout, late));
      }
      const { signal } = options;
      if (signal !== undefined) cancels.push(onAbort(signal, () => giveUp(signal.reason)));
      listen(stream, new FrameReader(this.#options.maxMessage), { onMessage, settle, giveUp });
      stream.end(frame(message));
    });
  }

  #connect(): Promise<ClientHttp2Session> {
    const session = this.#session;
    if (session !== undefined && !session.closed && !session.destroyed) return Promise.resolve(session);
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  #open(): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const session = connect("http://localhost", {
        createConnection: () => this.#socket(),
        settings: { enablePush: false, initialWindowSize: WINDOW },
      });
      const failed = (error: Error) => reject(new GrpcFailure(grpcStatus.unavailable, error.message, { cause: error }));
      session.once("error", failed);
      session.once("connect", () => {
        session.off("error", failed);
        // Every call on it hears of the error by itself.
        session.on("error", () => {});
        session.setLocalWindowSize(4 * WINDOW);
        // A connection alone keeps no program running; a call does, by its deadline.
        session.unref();
        this.#session = session;
        resolve(session);
      });
      // A server that shuts down says so first: later calls are for its successor.
      session.once("goaway", () => this.#forget(session));
      session.once("close", () => {
        this.#forget(session);
        reject(new GrpcFailure(grpcStatus.unavailable, "the connection was closed at once"));
      });
    });
  }

  #socket(): Socket {
    const { socket: path, onConnect } = this.#options;
    const socket = createConnection(path);
    if (onConnect) socket.once("connect", () => socket.once("close", onConnect(socket)));
    return socket;
  }

  #forget(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined;
  }
}

/** Throws where the connection has been lost since it was looked for. */
function open(session: ClientHttp2Session, method: string, { headers, timeout }: GrpcCallOptions): ClientHttp2Stream {
  try {
    return session.request({
      ...headers,
      ":method": "POST",
      ":path": method,
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": "fjord",
      ...(timeout !== undefined && { "grpc-timeout": timeoutHeader(timeout) }),
    });
  } catch (cause) {
    throw new GrpcFailure(grpcStatus.unavailable, "the connection was lost", { cause });
  }
}

interface CallHandlers {
  onMessage: (message: Uint8Array) => void;
  settle: (failure?: unknown) => void;
  giveUp: (failure: unknown) => void;
}

function listen(stream: ClientHttp2Stream, reader: FrameReader, { onMessage, settle, giveUp }: CallHandlers): void {
  let ending: { status: number; message: string } | undefined;
  let error: Error | undefined;
  stream.on("response", (headers) => {
    // A call that fails at once has its status here.
    ending = statusOf(headers);
    const code = headers[":status"];
    if (ending === undefined && code !== 200) giveUp(new GrpcFailure(grpcStatus.unknown, `HTTP status ${code}`));
  });
  stream.on("trailers", (headers) => {
    ending = statusOf(headers) ?? ending;
  });
  stream.on("data", (piece: Buffer) => {
    try {
      for (const message of reader.push(piece)) onMessage(message);
    } catch (problem) {
      giveUp(new GrpcFailure(grpcStatus.internal, problem instanceof Error ? problem.message : String(problem)));
    }
  });
  stream.on("error", (problem) => {
    error = problem;
  });
  stream.on("close", () => {
    if (ending === undefined) {
      const message = error?.message ?? "the connection was lost";
      settle(new GrpcFailure(grpcStatus.unavailable, message, error && { cause: error }));
    } else if (ending.status !== grpcStatus.ok) settle(new GrpcFailure(ending.status, ending.message));
    else if (reader.isPartial) settle(new GrpcFailure(grpcStatus.internal, "an answer that ends in the middle"));
    else settle();
  });
}
