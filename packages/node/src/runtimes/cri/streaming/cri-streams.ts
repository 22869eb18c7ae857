import type { Duplex } from "node:stream";
import { type Clock, onAbort } from "@fjord/base";
import type { SpdyConnection } from "../../../spdy/index.ts";
import type { CommandStreams } from "../../../stream/command-streams.ts";
import type { CriClient } from "../cri-client.ts";
import { CriCommandFailed, CriPortFailed } from "../errors.ts";
import { RuntimeService } from "../proto/messages.ts";
import { joinPort, PORT_PROTOCOL } from "./port-forward.ts";
import { COMMAND_PROTOCOL, joinCommand, wantedStreams } from "./remote-command.ts";
import { connectStreams, type Dial, dialHost } from "./stream-server.ts";

/** Commands, terminals and ports of containers, by the streaming server of the runtime. */
export class CriStreams {
  readonly #client: CriClient;
  readonly #clock: Clock;
  readonly #dial: Dial;

  constructor(options: { client: CriClient; clock: Clock; dial?: Dial | undefined }) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#dial = options.dial ?? dialHost;
  }

  async exec(id: string, command: readonly string[], streams: CommandStreams, signal?: AbortSignal): Promise<number> {
    const action = `run ${command[0] ?? "a command"} in the container ${id}`;
    const request = { containerId: id, cmd: [...command], tty: streams.tty, ...wantedStreams(streams) };
    const options = { action, ...(signal && { signal }) };
    const { url } = await this.#client.call(RuntimeService.exec, request, options);
    return this.#command(url, streams, action, signal);
  }

  async attach(id: string, streams: CommandStreams, signal?: AbortSignal): Promise<void> {
    const action = `attach to the container ${id}`;
    const request = { containerId: id, tty: streams.tty, ...wantedStreams(streams) };
    const options = { action, ...(signal && { signal }) };
    const { url } = await this.#client.call(RuntimeService.attach, request, options);
    await this.#command(url, streams, action, signal);
  }

  async portForward(sandbox: string, port: number, stream: Duplex, signal?: AbortSignal): Promise<void> {
    const options = { action: `forward port ${port} of sandbox ${sandbox}`, ...(signal && { signal }) };
    const request = { podSandboxId: sandbox, port: [port] };
    const { url } = await this.#client.call(RuntimeService.portForward, request, options);
    const join = (connection: SpdyConnection) => joinPort(connection, port, stream);
    const reason = await this.#withConnection(url, PORT_PROTOCOL, join, signal);
    if (reason !== undefined) throw new CriPortFailed({ sandbox, port, reason });
  }

  async #command(url: string, streams: CommandStreams, action: string, signal?: AbortSignal): Promise<number> {
    const join = (connection: SpdyConnection) => joinCommand(connection, streams);
    const result = await this.#withConnection(url, COMMAND_PROTOCOL, join, signal);
    if ("failure" in result) throw new CriCommandFailed({ action, reason: result.failure });
    return result.exitCode;
  }

  /** An abort cuts the connection, whatever is under way on it. */
  async #withConnection<T>(
    url: string,
    protocol: string,
    join: (connection: SpdyConnection) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const options = { dial: this.#dial, clock: this.#clock, ...(signal && { signal }) };
    const connection = await connectStreams(url, protocol, options);
    const cancel = signal === undefined ? () => {} : onAbort(signal, () => connection.destroy());
    try {
      const result = await join(connection);
      signal?.throwIfAborted();
      return result;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      cancel();
      connection.destroy();
    }
  }
}
