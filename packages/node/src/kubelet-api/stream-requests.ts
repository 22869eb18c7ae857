import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock, Logger } from "@fjord/base";
import type { WebSocket } from "ws";
import {
  acceptSpdyCommand,
  acceptWebSocketCommand,
  type CommandConnection,
  portForwardChannelProtocol,
  portForwardProtocol,
  type StreamServerOptions,
  serveCommand,
  servePortForward,
  servePortForwardChannels,
  spdyCommandProtocols,
  tunnelProtocol,
  type WantedStreams,
  webSocketCommandProtocols,
} from "../stream/index.ts";
import type { KubeletBackend } from "./backend.ts";
import { InvalidRequest } from "./errors.ts";
import { checkContainer, findPod } from "./find-container.ts";
import type { Route } from "./route.ts";
import { chooseProtocol, switchToSpdy, upgradeKind, WebSocketUpgrader } from "./upgrade.ts";

export interface StreamRequestOptions extends StreamServerOptions {
  backend: KubeletBackend;
  log: Logger;
  clock: Clock;
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Told when the connection is no longer HTTP. */
  readonly onSwitch: () => void;
}

/** Answers requests that turn their connection into streams. */
export class StreamRequests {
  readonly #options: StreamRequestOptions;
  readonly #webSockets = new WebSocketUpgrader();

  constructor(options: StreamRequestOptions) {
    this.#options = options;
  }

  /** Resolves when the streams have ended. Throws as long as the connection is still HTTP. */
  async answer(route: Route, upgrade: Upgrade): Promise<void> {
    const { backend, log } = this.#options;
    switch (route.kind) {
      case "exec":
      case "attach": {
        checkContainer(findPod(backend, route.address), route.address.container);
        const { address } = route;
        const run: Parameters<typeof serveCommand>[2] =
          route.kind === "exec"
            ? (streams, signal) => backend.exec(address, route.command, streams, signal)
            : (streams, signal) => backend.attach(address, streams, signal).then(() => 0);
        return await this.#command(route.wanted, upgrade, run);
      }
      case "portForward": {
        findPod(backend, route.address);
        return await this.#portForward(route, upgrade);
      }
      default:
        log.debug("an upgrade was asked for where none is", { kind: route.kind });
        throw new InvalidRequest({ problem: "nothing to upgrade here" });
    }
  }

  async #command(wanted: WantedStreams, upgrade: Upgrade, run: Parameters<typeof serveCommand>[2]): Promise<void> {
    const { log, clock } = this.#options;
    let connection: CommandConnection;
    if (upgradeKind(upgrade.request) === "spdy") {
      const protocol = chooseProtocol(upgrade.request, spdyCommandProtocols, "channel.k8s.io");
      const socket = this.#spdy(upgrade, protocol);
      connection = await acceptSpdyCommand(socket, protocol, wanted, this.#options);
    } else {
      const webSocket = await this.#webSocket(upgrade, webSocketCommandProtocols);
      connection = acceptWebSocketCommand(webSocket, wanted, clock);
    }
    await serveCommand(connection, wanted.tty, run, log);
  }

  async #portForward(route: Extract<Route, { kind: "portForward" }>, upgrade: Upgrade): Promise<void> {
    const { backend } = this.#options;
    const forward: Parameters<typeof servePortForward>[1] = (port, stream, signal) =>
      backend.portForward(route.address, port, stream, signal);
    if (upgradeKind(upgrade.request) === "spdy") {
      const protocol = chooseProtocol(upgrade.request, [portForwardProtocol], portForwardProtocol);
      return await servePortForward(this.#spdy(upgrade, protocol), forward, this.#options);
    }
    const ours = [tunnelProtocol, portForwardChannelProtocol];
    if (chooseProtocol(upgrade.request, ours, "") !== tunnelProtocol && route.ports.length === 0)
      throw new InvalidRequest({ problem: 'query parameter "port" is required' });
    const webSocket = await this.#webSocket(upgrade, ours);
    if (webSocket.protocol !== tunnelProtocol)
      return await servePortForwardChannels(webSocket, route.ports, forward, this.#options);
    const { createWebSocketStream } = await import("ws");
    await servePortForward(createWebSocketStream(webSocket), forward, this.#options);
  }

  #spdy({ socket, head, onSwitch }: Upgrade, protocol: string): Duplex {
    onSwitch();
    return switchToSpdy(socket, head, protocol);
  }

  async #webSocket({ request, socket, head, onSwitch }: Upgrade, ours: readonly string[]): Promise<WebSocket> {
    if (upgradeKind(request) === undefined) throw new InvalidRequest({ problem: "Upgrade request required" });
    const protocol = chooseProtocol(request, ours, "");
    const webSocket = await this.#webSockets.upgrade(request, socket, head, protocol);
    onSwitch();
    return webSocket;
  }
}
