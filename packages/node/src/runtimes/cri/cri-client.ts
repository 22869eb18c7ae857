import { describeError } from "@fjord/base";
import {
  CriCallFailed,
  CriNotListening,
  CriNotSupported,
  CriPermissionDenied,
  CriSocketMissing,
  CriWentAway,
} from "./errors.ts";
import { type GrpcCallOptions, GrpcClient, type GrpcClientOptions, GrpcFailure } from "./grpc/grpc-client.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { decode, type ListDecoder } from "./proto/decode.ts";
import { encode } from "./proto/encode.ts";
import type { Init, Method } from "./proto/message.ts";

export interface CriCallOptions extends GrpcCallOptions {
  /** For the error, as in "cannot ...". */
  action: string;
}

/** Most calls are answered at once, but a runtime under load takes its time over them. */
const DEFAULT_TIMEOUT = 2 * 60_000;

/** What containerd says while it looks for what ran before it was restarted. */
const STARTING = /server is not initialized yet/;

/** Typed calls to a container runtime; every failure is one of `errors.ts`. */
export class CriClient {
  readonly #grpc: GrpcClient;
  readonly #socket: string;

  constructor(options: Omit<GrpcClientOptions, "maxMessage">) {
    this.#grpc = new GrpcClient(options);
    this.#socket = options.socket;
  }

  async call<I, O>(method: Method<I, O>, request: Init<I>, options: CriCallOptions): Promise<O> {
    return await this.#ask(method, request, (answer) => decode(method.output, answer), options);
  }

  /** As `call`, for a list that is asked for often: `items` knows its last answer. */
  async list<I, O, T>(
    method: Method<I, O>,
    request: Init<I>,
    items: ListDecoder<T>,
    options: CriCallOptions,
  ): Promise<T[]> {
    return await this.#ask(method, request, (answer) => items.decode(answer), options);
  }

  async #ask<I, O, A>(
    method: Method<I, O>,
    request: Init<I>,
    read: (answer: Uint8Array) => A,
    { action, ...options }: CriCallOptions,
  ): Promise<A> {
    const message = encode(method.input, request);
    let answer: Uint8Array;
    try {
      answer = await this.#grpc.unary(method.path, message, { timeout: DEFAULT_TIMEOUT, ...options });
    } catch (error) {
      throw this.#explain(error, action);
    }
    try {
      return read(answer);
    } catch (cause) {
      const reason = `the runtime's answer cannot be read: ${describeError(cause)}`;
      throw new CriCallFailed({ action, reason, status: grpcStatus.internal }, { cause });
    }
  }

  /** Gives each message to `onMessage` until the stream ends, which it does well only by the runtime's wish. */
  async stream<I, O>(
    method: Method<I, O>,
    request: Init<I>,
    onMessage: (message: O) => void,
    options: CriCallOptions,
  ): Promise<void> {
    const message = encode(method.input, request);
    await this.streamRaw(method.path, message, (bytes) => onMessage(decode(method.output, bytes)), options);
  }

  /** As `stream`, for a service of which there are no types here. */
  async streamRaw(
    path: string,
    message: Uint8Array,
    onMessage: (message: Uint8Array) => void,
    { action, ...options }: CriCallOptions,
  ): Promise<void> {
    try {
      await this.#grpc.stream(path, message, onMessage, options);
    } catch (error) {
      throw this.#explain(error, action);
    }
  }

  close(): void {
    this.#grpc.close();
  }

  #explain(error: unknown, action: string): unknown {
    if (!(error instanceof GrpcFailure)) return error;
    const socket = this.#socket;
    const options = { cause: error };
    const { code } = (error.cause ?? {}) as { code?: string };
    if (code === "ENOENT") return new CriSocketMissing({ socket }, options);
    if (code === "EACCES" || code === "EPERM") return new CriPermissionDenied({ socket }, options);
    if (code === "ECONNREFUSED" || code === "ENOTSOCK") return new CriNotListening({ socket }, options);
    const reason = error.message;
    if (error.status === grpcStatus.unimplemented && /unknown service/i.test(reason)) {
      return new CriNotSupported({ socket, reason }, options);
    }
    if (code === "ERR_HTTP2_ERROR" && /protocol/i.test(reason)) return new CriNotSupported({ socket, reason }, options);
    if (error.status === grpcStatus.unavailable || STARTING.test(reason))
      return new CriWentAway({ action, socket, reason }, options);
    return new CriCallFailed({ action, reason, status: error.status }, options);
  }
}
