import type { Socket as UdpSocket } from "node:dgram";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, describeError, type Logger } from "@fjord/base";
import type { SiteId } from "../../site-identity.ts";
import { DatagramReader, datagramHeader, isWireguard, SIGN_OF_LIFE } from "./datagrams.ts";
import type { DropReason, TcpMetrics } from "./tcp-metrics.ts";

export interface TcpLinkOptions {
  readonly site: SiteId;
  /** Bound; of nobody else. */
  readonly socket: UdpSocket;
  /** Where WireGuard of the own gateway is, from where alone packets are taken and to where alone they are given. */
  readonly gateway: () => { readonly address: string; readonly port: number } | undefined;
  /** A connection to the peer's agent, over which packets go. */
  readonly connect: (signal: AbortSignal) => Promise<Duplex>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: TcpMetrics;
}

/** Who has dialled it. There is one of each at most: each side may have begun. */
type Side = "own" | "peer";

interface Stream {
  readonly duplex: Duplex;
  readonly side: Side;
  heardAt: number;
  saidAt: number;
  /** When a packet came or went. */
  usedAt: number;
  isCorked: boolean;
  stopBeating: () => void;
}

/** What waits to be written is no more than this: what is late by more is better lost, as WireGuard's users send it again. */
const LONGEST_QUEUE = 256 * 1024;
/** Of bytes that are on their way to the gateway in this process. */
const LONGEST_UDP_QUEUE = 1024 * 1024;
/** Packets that wait for the first connection; the oldest goes. */
const MOST_WAITING = 16;
const BEAT_MS = 5_000;
const DEAD_MS = 15_000;
const IDLE_MS = 120_000;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 15_000;

/**
 * Carries WireGuard's packets between the own gateway and a peer's agent, which does the same. A connection is dialled when there is something to carry, dialled
 * again when it breaks or falls silent, and left when nothing has been carried for a while. What does not fit in is dropped, as a wire would.
 */
export class TcpLink {
  readonly #options: TcpLinkOptions;
  readonly #streams = new Map<Side, Stream>();
  readonly #over = new AbortController();
  /** The one over which something came last. */
  #current: Stream | undefined;
  #waiting: Buffer[] = [];
  #isDialling = false;
  #dialAt = 0;
  #backoffMs = FIRST_BACKOFF_MS;

  constructor(options: TcpLinkOptions) {
    this.#options = options;
    options.socket.on("message", (datagram, from) => this.#fromGateway(datagram, from));
    // A gateway that is not there does not answer.
    options.socket.on("error", () => {});
  }

  /** Takes a connection that the peer has dialled, in the place of the one before. */
  accept(duplex: Duplex): void {
    this.#attach(duplex, "peer");
  }

  close(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    for (const { duplex } of this.#streams.values()) duplex.destroy();
    this.#waiting = [];
    this.#options.socket.close();
  }

  #fromGateway(datagram: Buffer, from: { readonly address: string; readonly port: number }): void {
    const gateway = this.#options.gateway();
    const stream = this.#current;
    if (gateway?.address !== from.address || gateway.port !== from.port) this.#drop("NotOfGateway");
    else if (!isWireguard(datagram)) this.#drop("NotWireguard");
    else if (stream === undefined) this.#await(datagram);
    else if (stream.duplex.writableLength > LONGEST_QUEUE) this.#drop("Slow");
    else this.#send(stream, datagram);
  }

  #send(stream: Stream, datagram: Buffer): void {
    const { site, metrics, clock } = this.#options;
    const { duplex } = stream;
    // What comes in one go is written in one go.
    if (!stream.isCorked) {
      stream.isCorked = true;
      duplex.cork();
      setImmediate(() => {
        stream.isCorked = false;
        duplex.uncork();
      });
    }
    duplex.write(datagramHeader(datagram.length));
    duplex.write(datagram);
    stream.saidAt = clock.now();
    stream.usedAt = stream.saidAt;
    metrics.sent(site, datagram.length);
  }

  #toGateway(datagram: Buffer): void {
    const { site, metrics, socket } = this.#options;
    const gateway = this.#options.gateway();
    if (gateway === undefined) this.#drop("NotOfGateway");
    else if (!isWireguard(datagram)) this.#drop("NotWireguard");
    else if (socket.getSendQueueSize() > LONGEST_UDP_QUEUE) this.#drop("Slow");
    else {
      metrics.received(site, datagram.length);
      socket.send(datagram, gateway.port, gateway.address, () => {});
    }
  }

  #drop(reason: DropReason): void {
    this.#options.metrics.dropped(this.#options.site, reason);
  }

  #await(datagram: Buffer): void {
    const { clock } = this.#options;
    this.#waiting.push(datagram);
    if (this.#waiting.length > MOST_WAITING) {
      this.#waiting.shift();
      this.#drop("NoConnection");
    }
    if (!this.#isDialling && clock.now() >= this.#dialAt) void this.#dial();
  }

  async #dial(): Promise<void> {
    const { site, connect, clock, logger } = this.#options;
    this.#isDialling = true;
    try {
      const duplex = await connect(this.#over.signal);
      if (this.#over.signal.aborted) return void duplex.destroy();
      this.#attach(duplex, "own");
    } catch (error) {
      if (this.#over.signal.aborted) return;
      this.#dialAt = clock.now() + this.#backoffMs;
      this.#backoffMs = Math.min(this.#backoffMs * 2, LONGEST_BACKOFF_MS);
      logger.debug("no connection for packets of a gateway", { site, reason: describeError(error) });
    } finally {
      this.#isDialling = false;
    }
  }

  #attach(duplex: Duplex, side: Side): void {
    const { site, clock, metrics, logger } = this.#options;
    const now = clock.now();
    this.#streams.get(side)?.duplex.destroy();
    const stream: Stream = {
      duplex,
      side,
      heardAt: now,
      saidAt: now,
      usedAt: now,
      isCorked: false,
      stopBeating: () => {},
    };
    this.#streams.set(side, stream);
    this.#current = stream;
    metrics.open(site, this.#streams.size);
    (duplex as Partial<Socket>).setNoDelay?.(true);
    const reader = new DatagramReader();
    duplex.on("data", (chunk: Buffer) => {
      stream.heardAt = clock.now();
      this.#backoffMs = FIRST_BACKOFF_MS;
      for (const datagram of reader.read(chunk)) {
        stream.usedAt = stream.heardAt;
        this.#current = stream;
        this.#toGateway(datagram);
      }
    });
    duplex.on("error", () => {});
    duplex.once("end", () => duplex.destroy());
    duplex.once("close", () => this.#detach(stream));
    this.#beat(stream);
    logger.info("packets of the gateway are carried over a connection of the agents", { site, dialled: side });
    for (const datagram of this.#waiting.splice(0)) this.#send(stream, datagram);
    if (duplex.destroyed) this.#detach(stream);
  }

  #detach(stream: Stream): void {
    const { site, metrics } = this.#options;
    stream.stopBeating();
    if (this.#streams.get(stream.side) === stream) this.#streams.delete(stream.side);
    if (this.#current === stream) this.#current = [...this.#streams.values()][0];
    metrics.open(site, this.#streams.size);
  }

  /** Says that it is there, notices when the other end is not, and ends what nobody uses. */
  #beat(stream: Stream): void {
    const { clock } = this.#options;
    stream.stopBeating = clock.after(BEAT_MS, () => {
      const now = clock.now();
      const isUnused = stream.side === "own" && now - stream.usedAt >= IDLE_MS;
      if (isUnused || now - stream.heardAt >= DEAD_MS) return void stream.duplex.destroy();
      if (now - stream.saidAt >= BEAT_MS && stream.duplex.writableLength === 0) {
        stream.saidAt = now;
        stream.duplex.write(SIGN_OF_LIFE);
      }
      this.#beat(stream);
    });
  }
}
