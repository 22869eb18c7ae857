import type { Socket } from "node:net";
import type { Clock } from "@fjord/base";
import type { Lane } from "./lane.ts";
import { reset } from "./reset.ts";

/** Bytes that one connection may have on its way in one direction: enough for 600 MB/s at 50 ms. */
const window = 32 * 1024 * 1024;
/** The same while the lane is cut: what a sender's own buffers would take before its writes block. */
const windowWhenCut = 256 * 1024;
/** Milliseconds of backlog at which a connection waits before it puts more on a lane of limited bandwidth. */
const patience = 50;

type Parcel = { readonly due: number } & ({ readonly data: Buffer } | { readonly end: "finish" | "reset" });

/**
 * Carries one direction of one connection over a lane. Parcels wait for the time at which they are due, so that a delay
 * does not lower throughput; closing travels behind the bytes, like them, so that half-open connections stay so.
 */
export class Pipe {
  readonly #source: Socket;
  readonly #target: Socket;
  readonly #lane: Lane;
  readonly #clock: Clock;
  readonly #stopListening: () => void;
  #parcels: Parcel[] = [];
  /** Index of the next parcel: shifting a long array each time would be slow. */
  #next = 0;
  #waiting = 0;
  #lastDue = 0;
  #ended = false;
  #cancelTimer: (() => void) | undefined;
  #cancelResume: (() => void) | undefined;

  constructor(source: Socket, target: Socket, lane: Lane, clock: Clock) {
    this.#source = source;
    this.#target = target;
    this.#lane = lane;
    this.#clock = clock;
    this.#stopListening = lane.onChange(() => this.#flush());
    source.on("data", (chunk: Buffer) => this.#take(chunk));
    source.on("end", () => this.#finish("finish"));
    source.on("error", () => this.#finish("reset"));
    source.on("close", () => this.#finish("reset"));
    target.on("drain", () => this.#flush());
    target.on("close", () => this.#abandon());
    if (target.destroyed) this.#abandon();
    else if (source.destroyed) this.#finish("reset");
    else this.#regulate();
  }

  #take(chunk: Buffer): void {
    if (this.#target.destroyed) return;
    const grain = this.#lane.grain;
    for (let start = 0; start < chunk.length; start += grain) {
      const data = chunk.subarray(start, start + grain);
      this.#put({ due: this.#due(data.length), data });
      this.#waiting += data.length;
    }
    this.#flush();
  }

  #finish(end: "finish" | "reset"): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#target.destroyed) return;
    this.#put({ due: this.#due(0), end });
    this.#flush();
  }

  #due(size: number): number {
    this.#lastDue = Math.max(this.#lastDue, this.#lane.send(size));
    return this.#lastDue;
  }

  #put(parcel: Parcel): void {
    this.#parcels.push(parcel);
  }

  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    while (!this.#lane.cut && !this.#target.writableNeedDrain && !this.#target.destroyed) {
      const parcel = this.#parcels[this.#next];
      if (parcel === undefined) break;
      const wait = parcel.due - this.#clock.now();
      if (wait > 0) {
        this.#cancelTimer = this.#clock.after(Math.ceil(wait), () => this.#flush());
        break;
      }
      this.#next++;
      this.#deliver(parcel);
    }
    this.#compact();
    this.#regulate();
  }

  #deliver(parcel: Parcel): void {
    if ("data" in parcel) {
      this.#waiting -= parcel.data.length;
      this.#lane.count(parcel.data.length);
      this.#target.write(parcel.data);
    } else if (parcel.end === "finish") {
      this.#target.end();
    } else {
      reset(this.#target);
    }
  }

  #compact(): void {
    if (this.#next < 1024 && this.#next < this.#parcels.length) return;
    this.#parcels = this.#parcels.slice(this.#next);
    this.#next = 0;
  }

  /** Reads on only while what waits is bounded: the sender then feels the limit as it would on a network. */
  #regulate(): void {
    this.#cancelResume?.();
    this.#cancelResume = undefined;
    if (this.#source.destroyed) return;
    if (this.#target.destroyed) {
      this.#source.resume();
      return;
    }
    if (this.#waiting >= (this.#lane.cut ? windowWhenCut : window)) {
      this.#source.pause();
      return;
    }
    const { backlog } = this.#lane;
    if (backlog > patience) {
      this.#source.pause();
      this.#cancelResume = this.#clock.after(Math.ceil(backlog - patience), () => this.#regulate());
    } else {
      this.#source.resume();
    }
  }

  /** Nobody is left to deliver to. The source is read on, so that its own end is noticed. */
  #abandon(): void {
    this.#stopListening();
    this.#cancelTimer?.();
    this.#parcels = [];
    this.#next = 0;
    this.#waiting = 0;
    this.#regulate();
  }
}
