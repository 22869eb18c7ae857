import { SpdyProtocol } from "./errors.ts";
import { type ControlFrame, flag } from "./frames.ts";

/** A part of a DATA frame: handed on as it arrives, for a frame may be larger than anyone wants to keep. */
export interface DataPiece {
  readonly stream: number;
  readonly data: Buffer;
  /** Ends the stream's this direction. */
  readonly fin: boolean;
}

export type Piece = ControlFrame | DataPiece;

export function isData(piece: Piece): piece is DataPiece {
  return "data" in piece;
}

const HEADER = 8;

/** Finds the frames in a sequence of bytes, however it was cut. */
export class FrameSplitter {
  readonly #maxControl: number;
  #parts: Buffer[] = [];
  #size = 0;
  #data: { stream: number; left: number; fin: boolean } | undefined;
  #control: { type: number; flags: number; length: number } | undefined;

  constructor(maxControl: number) {
    this.#maxControl = maxControl;
  }

  *push(chunk: Buffer): Generator<Piece, void, void> {
    let rest = chunk;
    for (;;) {
      if (this.#data !== undefined) {
        if (rest.length === 0 && this.#data.left > 0) return;
        const data = rest.subarray(0, this.#data.left);
        rest = rest.subarray(data.length);
        yield this.#dataPiece(this.#data, data);
        continue;
      }
      const wanted = (this.#control?.length ?? HEADER) - this.#size;
      if (rest.length < wanted) {
        this.#keep(rest);
        return;
      }
      const part = rest.subarray(0, wanted);
      rest = rest.subarray(wanted);
      const whole = this.#take(part);
      if (this.#control === undefined) {
        this.#readHeader(whole);
      } else {
        const { type, flags } = this.#control;
        this.#control = undefined;
        yield { type, flags, payload: whole };
      }
    }
  }

  #dataPiece(frame: { stream: number; left: number; fin: boolean }, data: Buffer): DataPiece {
    frame.left -= data.length;
    if (frame.left > 0) return { stream: frame.stream, data, fin: false };
    this.#data = undefined;
    return { stream: frame.stream, data, fin: frame.fin };
  }

  #readHeader(header: Buffer): void {
    const first = header.readUInt32BE(0);
    const second = header.readUInt32BE(4);
    const flags = second >>> 24;
    const length = second & 0xffffff;
    if (first >>> 31 === 0) {
      if (first === 0) throw new SpdyProtocol({ problem: "data for stream 0" });
      this.#data = { stream: first, left: length, fin: (flags & flag.fin) !== 0 };
      return;
    }
    const version = (first >>> 16) & 0x7fff;
    if (version !== 3) throw new SpdyProtocol({ problem: `version ${version} instead of 3` });
    if (length > this.#maxControl) throw new SpdyProtocol({ problem: `a control frame of ${length} bytes` });
    this.#control = { type: first & 0xffff, flags, length };
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#size += part.length;
  }

  #take(last: Buffer): Buffer {
    if (this.#parts.length === 0) return last;
    const whole = Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    this.#size = 0;
    return whole;
  }
}
