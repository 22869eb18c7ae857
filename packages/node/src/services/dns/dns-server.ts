import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { createServer, isIPv6, type Server, type Socket } from "node:net";
import { type Clock, describeError, type Logger } from "@fjord/base";
import { DnsNotServed } from "../errors.ts";
import { clusterAnswer, type NameSource } from "./cluster-names.ts";
import { formatAnswer, parseQuery, type Query, RESPONSE_CODES, type ResourceRecord } from "./message.ts";
import { forward } from "./upstream.ts";

export interface DnsServerOptions {
  readonly address: string;
  readonly port: number;
  readonly domain: string;
  readonly source: NameSource;
  /** Who knows all other names; none: they are refused. `ADDRESS` or `ADDRESS:PORT`. */
  readonly upstreams: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const MOST_FORWARDED = 500;
const TCP_IDLE_MS = 30_000;

/** The cluster's names, over UDP and TCP. */
export class DnsServer {
  readonly name = "DNS";
  readonly #options: DnsServerOptions;
  #forwarded = 0;
  #turn = 0;
  readonly #listening = Promise.withResolvers<void>();

  constructor(options: DnsServerOptions) {
    this.#options = options;
  }

  /** Resolves once it answers. */
  get listening(): Promise<void> {
    return this.#listening.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { address, port, logger } = this.#options;
    const udp = createSocket(isIPv6(address) ? "udp6" : "udp4");
    const tcp = createServer((socket) => this.#serve(socket));
    try {
      await Promise.all([bindUdp(udp, address, port), listenTcp(tcp, address, port)]);
    } catch (cause) {
      closeQuietly(udp, tcp);
      const at = { address: `${address}:${port}`, reason: describeError(cause) };
      throw new DnsNotServed(at, { cause });
    }
    udp.on("error", (error) => logger.warn("DNS socket failed", { error: describeError(error) }));
    udp.on("message", (message, from) => {
      const reply = (answer: Buffer) => udp.send(answer, from.port, from.address, () => {});
      void this.#answer(message, "udp").then((answer) => answer && reply(answer));
    });
    this.#listening.resolve();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    closeQuietly(udp, tcp);
  }

  #serve(socket: Socket): void {
    let buffered = Buffer.alloc(0);
    socket.setTimeout(TCP_IDLE_MS, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
        const length = buffered.readUInt16BE(0);
        const message = buffered.subarray(2, 2 + length);
        buffered = buffered.subarray(2 + length);
        void this.#answer(Buffer.from(message), "tcp").then((answer) => {
          if (answer === undefined || socket.destroyed) return;
          const head = Buffer.alloc(2);
          head.writeUInt16BE(answer.length);
          socket.write(Buffer.concat([head, answer]));
        });
      }
    });
  }

  async #answer(message: Buffer, over: "udp" | "tcp"): Promise<Buffer | undefined> {
    const query = parseQuery(message);
    if (query === undefined) return undefined;
    const size = over === "udp" ? query.size : 65_535;
    const failed = (code: number) => formatAnswer(query, { code, answers: [] }, size);
    if (query.opcode !== 0) return failed(RESPONSE_CODES.notImplemented);
    const { domain, source, upstreams } = this.#options;
    const own = clusterAnswer(query.question, domain, source);
    if (own !== undefined) return formatAnswer(query, { ...own, answers: this.#rotated(own.answers) }, size);
    if (upstreams.length === 0) return failed(RESPONSE_CODES.refused);
    if (this.#forwarded >= MOST_FORWARDED) return failed(RESPONSE_CODES.serverFailure);
    this.#forwarded++;
    try {
      return (await this.#ask(message, query, over)) ?? failed(RESPONSE_CODES.serverFailure);
    } finally {
      this.#forwarded--;
    }
  }

  /** Another order each time: clients take the first. */
  #rotated(records: readonly ResourceRecord[]): readonly ResourceRecord[] {
    const start = this.#turn++ % Math.max(1, records.length);
    return start === 0 ? records : [...records.slice(start), ...records.slice(0, start)];
  }

  async #ask(message: Buffer, query: Query, over: "udp" | "tcp"): Promise<Buffer | undefined> {
    for (const upstream of this.#options.upstreams) {
      const answer = await forward(message, query.id, upstream, over, this.#options.clock);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }
}

function bindUdp(socket: UdpSocket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind({ address, port, exclusive: true }, () => {
      socket.off("error", reject);
      resolve();
    });
  });
}

function listenTcp(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off("error", reject);
      server.on("error", () => {});
      resolve();
    });
  });
}

function closeQuietly(udp: UdpSocket, tcp: Server): void {
  tcp.close();
  try {
    udp.close();
  } catch {
    // It was never bound.
  }
}
