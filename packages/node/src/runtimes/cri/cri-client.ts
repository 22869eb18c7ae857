import type { DescMethodServerStreaming, DescMethodUnary } from "@bufbuild/protobuf";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { Clock } from "@fjord/base";
import {
  CriCallFailed,
  CriNotListening,
  CriNotSupported,
  CriPermissionDenied,
  CriSocketMissing,
  CriWentAway,
} from "./errors.ts";
import { type GrpcCallOptions, GrpcClient, GrpcFailure } from "./grpc/grpc-client.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";

export interface CriCallOptions extends Omit<GrpcCallOptions, "headers"> {
  /** For the error, as in "cannot ...". */
  action: string;
}

/** Most calls are answered at once, but a runtime under load takes its time over them. */
const DEFAULT_TIMEOUT = 2 * 60_000;

/** Typed calls to a container runtime; every failure is one of `errors.ts`. */
export class CriClient {
  readonly #grpc: GrpcClient;
  readonly #socket: string;

  constructor(options: { socket: string; clock: Clock }) {
    this.#grpc = new GrpcClient(options);
    this.#socket = options.socket;
  }

  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    { action, ...options }: CriCallOptions,
  ): Promise<MessageShape<O>> {
    const message = toBinary(method.input, create(method.input, request));
    try {
      return fromBinary(
        method.output,
        await this.#grpc.unary(pathOf(method), message, { timeout: DEFAULT_TIMEOUT, ...options }),
      );
    } catch (error) {
      throw this.#explain(error, action);
    }
  }

  /** Gives each message to `onMessage` until the stream ends, which it does well only by the runtime's wish. */
  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    onMessage: (message: MessageShape<O>) => void,
    { action, ...options }: CriCallOptions,
  ): Promise<void> {
    const message = toBinary(method.input, create(method.input, request));
    try {
      await this.#grpc.stream(pathOf(method), message, (bytes) => onMessage(fromBinary(method.output, bytes)), options);
    } catch (error) {
      throw this.#explain(error, action);
    }
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
    if (error.status === grpcStatus.unavailable) return new CriWentAway({ action, socket, reason }, options);
    return new CriCallFailed({ action, reason, status: error.status }, options);
  }
}

function pathOf(method: { parent: { typeName: string }; name: string }): string {
  return `/${method.parent.typeName}/${method.name}`;
}
