import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { aborted, type Clock, type Logger } from "@fjord/base";
import { ApiReviewer, Guard, KubeletServer } from "../kubelet-api/index.ts";
import { generateKey, selfSignedCertificate } from "../registration/x509.ts";
import type { Fleet } from "./fleet.ts";
import { FleetBackend } from "./fleet-backend.ts";

export interface FleetServerOptions {
  readonly fleet: Fleet;
  readonly port: number;
  /** PEM, for the addresses of all nodes. @default a certificate that vouches for itself */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly clock: Clock;
  readonly logger: Logger;
}

const YEAR_MS = 365 * 24 * 3_600_000;

/** The kubelet API of all nodes on one port. Which node is meant shows in the address that was called. */
export class FleetServer {
  readonly #options: FleetServerOptions;
  readonly #servers = new Map<string, KubeletServer>();
  readonly #connections = new Set<Socket>();

  constructor(options: FleetServerOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { port, logger, tls } = this.#options;
    const pair = tls ?? (await this.#makePair());
    const listener = createServer((connection) => this.#take(connection, pair));
    listener.listen(port);
    await once(listener, "listening");
    logger.info("serving the kubelet API of all nodes", { port });
    await aborted(signal);
    const closed = once(listener, "close");
    listener.close();
    for (const connection of this.#connections) connection.destroy();
    await closed;
  }

  async #makePair(): Promise<{ cert: string; key: string }> {
    const { clock, fleet } = this.#options;
    const key = await generateKey();
    const validity = { from: clock.now() - 3_600_000, to: clock.now() + YEAR_MS };
    const cert = selfSignedCertificate(createPrivateKey(key), { commonName: fleet.name }, [fleet.name], validity);
    return { cert, key };
  }

  #take(connection: Socket, pair: { cert: string; key: string }): void {
    // Seen on a socket that takes both families.
    const address = (connection.localAddress ?? "").replace(/^::ffff:/, "");
    const name = this.#options.fleet.nodeAt(address)?.name;
    if (name === undefined) return void connection.destroy();
    this.#connections.add(connection);
    connection.once("close", () => this.#connections.delete(connection));
    this.#serverOf(name, pair)?.accept(connection);
  }

  /** Made when a node is first asked: most never are. */
  #serverOf(name: string, pair: { cert: string; key: string }): KubeletServer | undefined {
    const { fleet, clock, logger } = this.#options;
    const node = fleet.node(name);
    if (node === undefined) return undefined;
    const known = this.#servers.get(name);
    if (known !== undefined) return known;
    const clientCa = fleet.authority;
    const server = new KubeletServer({
      backend: new FleetBackend({ node, pods: fleet.pods, clock }),
      guard: new Guard({ reviewer: new ApiReviewer(fleet.client), nodeName: name, clock }),
      tls: { ...pair, ...(clientCa !== undefined && { clientCa }) },
      log: logger,
      clock,
    });
    this.#servers.set(name, server);
    return server;
  }
}
