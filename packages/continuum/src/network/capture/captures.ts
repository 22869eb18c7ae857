import { type Clock, describeError, type Logger } from "@fjord/base";
import { chainDrift } from "../fabric/firewall-drift.ts";
import { makeChains } from "../gateway/make-chains.ts";
import type { NodeNetwork } from "../gateway/node-network.ts";
import { Serial } from "../gateway/serial.ts";
import type { CaptureRequest } from "./capture-request.ts";
import { CAPTURE_TABLE, captureChains, captureTable, type TableCapture } from "./capture-table.ts";
import type { CapturedPacket } from "./captured-packet.ts";
import { CaptureImpossible, LinkNotHere, TooManyCaptures } from "./errors.ts";
import { NflogRelay } from "./nflog-relay.ts";
import { pcapHeader, pcapRecord } from "./pcap.ts";

export interface CapturesOptions {
  readonly network: Pick<NodeNetwork, "talk" | "nft" | "nftShown" | "nftTable">;
  /** What carries packets of a peer here now; undefined where nothing does. */
  readonly linkOf: (siteId: string) => Pick<TableCapture, "interfaces" | "ranges"> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Why a capture has ended. */
export type CaptureEnd = "Duration" | "Packets" | "Bytes" | "Left" | "LinkGone" | "Broken";

export interface CaptureSummary {
  readonly end: CaptureEnd;
  readonly packets: number;
  readonly bytes: number;
  /** What the kernel could not pass on as fast as it came. */
  readonly lost: number;
}

const MOST = 4;
/** Groups of the kernel's log from here on. */
const FIRST_GROUP = 7450;

/**
 * What packets somebody looks at on this node: rules that log them, which are there for as long as somebody reads. They are kept as all that is
 * Fjord's: by a wish that is compared with what there is, and is empty again after each start.
 */
export class Captures {
  readonly #options: CapturesOptions;
  readonly #running = new Map<number, Capture>();
  /** Unknown before the first time: another process may have left something. */
  #applied: string | undefined;
  #made = new Map<string, string>();
  readonly #serial = new Serial();

  constructor(options: CapturesOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#running.size;
  }

  /** Begins one. It ends by its limits, with its link, or when `signal` aborts; nothing is left of it once it has been read to its end. */
  async open(request: CaptureRequest, signal: AbortSignal): Promise<Capture> {
    const { network, linkOf, clock } = this.#options;
    if (linkOf(request.site) === undefined) throw new LinkNotHere({ site: request.site });
    const group = Array.from({ length: MOST }, (_, index) => FIRST_GROUP + index).find(
      (each) => !this.#running.has(each),
    );
    if (group === undefined) throw new TooManyCaptures({ count: MOST });
    const closed = async () => {
      this.#running.delete(group);
      await this.#bring();
    };
    const capture = new Capture(request, { clock, signal, closed });
    // Its place is taken before anybody else asks.
    this.#running.set(group, capture);
    try {
      capture.listen(await NflogRelay.open(network, group));
      await this.#bring();
    } catch (error) {
      await capture.close();
      if (error instanceof CaptureImpossible) throw error;
      throw new CaptureImpossible({ reason: describeError(error) }, { cause: error });
    }
    return capture;
  }

  /** Brings the rules to what is read now, and to what links are made of now. Links do not suffer where that cannot be. */
  async bring(): Promise<void> {
    for (const capture of this.#running.values())
      if (this.#options.linkOf(capture.request.site) === undefined) capture.end("LinkGone");
    await this.#bring().catch((error: unknown) => {
      this.#applied = undefined;
      this.#options.logger.error("captures cannot be kept", { reason: describeError(error) });
      for (const capture of this.#running.values()) capture.end("Broken");
    });
  }

  /** Puts back what others have changed. Resolves with what it was, in words. */
  async check(): Promise<string[]> {
    if (this.#applied === undefined || this.#running.size === 0) return [];
    const json = await this.#options.network.nftTable(CAPTURE_TABLE);
    const wanted = new Set(captureChains(this.#wanted()).keys());
    const drift = json === undefined ? [`table ${CAPTURE_TABLE} is gone`] : chainDrift(wanted, this.#made, json);
    if (drift.length === 0) return [];
    this.#applied = undefined;
    await this.bring();
    return drift;
  }

  /** Ends all, and takes away what is there, whoever has made it. */
  async remove(): Promise<void> {
    for (const capture of [...this.#running.values()]) await capture.close();
    this.#applied = undefined;
    await this.#bring();
  }

  #wanted(): TableCapture[] {
    return [...this.#running].flatMap(([group, { request }]) => {
      const link = this.#options.linkOf(request.site);
      return link === undefined ? [] : [{ group, request, ...link }];
    });
  }

  #bring(): Promise<void> {
    return this.#serial.run(() => this.#apply());
  }

  async #apply(): Promise<void> {
    const { network } = this.#options;
    const wanted = this.#wanted();
    const text = captureTable(wanted);
    if (text === this.#applied) return;
    this.#applied = undefined;
    if (wanted.length === 0) await network.nft(text);
    else this.#made = await makeChains(network, CAPTURE_TABLE, text);
    this.#applied = text;
  }
}

interface CaptureMeans {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly closed: () => Promise<void>;
}

/** One capture: a file for tcpdump as it grows. It has to be read. */
export class Capture {
  readonly request: CaptureRequest;
  #relay: NflogRelay | undefined;
  readonly #means: CaptureMeans;
  readonly #stop: (() => void)[] = [];
  #end: CaptureEnd | undefined;
  #packets = 0;
  #bytes = 0;
  #closing: Promise<void> | undefined;

  constructor(request: CaptureRequest, means: CaptureMeans) {
    this.request = request;
    this.#means = means;
    const { clock, signal } = means;
    this.#stop.push(clock.after(request.durationMs, () => this.end("Duration")));
    const leave = () => this.end("Left");
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    this.#stop.push(() => signal.removeEventListener("abort", leave));
  }

  get summary(): CaptureSummary {
    return { end: this.#end ?? "Broken", packets: this.#packets, bytes: this.#bytes, lost: this.#relay?.lost ?? 0 };
  }

  /** It may be over before anything is heard. */
  listen(relay: NflogRelay): void {
    this.#relay = relay;
    if (this.#end !== undefined) relay.close();
  }

  /** Has it end soon; the first reason counts. */
  end(reason: CaptureEnd): void {
    this.#end ??= reason;
    this.#relay?.close();
  }

  async *read(): AsyncGenerator<Buffer> {
    try {
      yield this.#counted(pcapHeader());
      for await (const packet of this.#relay?.packets() ?? []) {
        if (this.#end !== undefined) return;
        const record = this.#taken(packet);
        if (record !== undefined) yield record;
        if (this.#packets === this.request.packets) this.end("Packets");
      }
    } finally {
      await this.close();
    }
  }

  #taken(packet: CapturedPacket): Buffer | undefined {
    const record = pcapRecord(packet);
    if (this.#bytes + record.length > this.request.bytes) {
      this.end("Bytes");
      return undefined;
    }
    this.#packets++;
    return this.#counted(record);
  }

  #counted(bytes: Buffer): Buffer {
    this.#bytes += bytes.length;
    return bytes;
  }

  /** Takes its rules away. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      for (const stop of this.#stop) stop();
      this.#relay?.close();
      await this.#means.closed();
    })();
    return this.#closing;
  }
}
