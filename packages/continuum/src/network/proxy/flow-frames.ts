import type { Duplex } from "node:stream";

/** How datagrams of many flows go over one stream: each behind its length, what it is, and of which flow. */
export const FLOW = { open: 1, opened: 2, refused: 3, datagram: 4, close: 5 } as const;
export type FlowFrameKind = (typeof FLOW)[keyof typeof FLOW];

export interface FlowFrame {
  readonly kind: FlowFrameKind;
  readonly flow: number;
  readonly body: Buffer;
}

const LENGTH = 4;
const HEADER = LENGTH + 5;
/** Of a datagram; what else is said is shorter. */
const LONGEST_BODY = 65_535;
const NOTHING = Buffer.alloc(0);

export function flowFrame(kind: FlowFrameKind, flow: number, body: Buffer = NOTHING): Buffer {
  const frame = Buffer.allocUnsafe(HEADER + body.length);
  frame.writeUInt32BE(body.length + HEADER - LENGTH, 0);
  frame.writeUInt8(kind, LENGTH);
  frame.writeUInt32BE(flow, LENGTH + 1);
  body.copy(frame, HEADER);
  return frame;
}

/** Takes what comes out of a stream apart; holds no more than one frame. */
export class FlowFrameReader {
  #held: Buffer = NOTHING;

  /** Throws where it is no frame. */
  *read(chunk: Buffer): Generator<FlowFrame> {
    let left = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    while (left.length >= HEADER) {
      const length = left.readUInt32BE(0) - (HEADER - LENGTH);
      const kind = left.readUInt8(LENGTH) as FlowFrameKind;
      if (length < 0 || length > LONGEST_BODY || kind < FLOW.open || kind > FLOW.close)
        throw new Error("it is no frame of a flow");
      if (left.length < HEADER + length) break;
      yield { kind, flow: left.readUInt32BE(LENGTH + 1), body: left.subarray(HEADER, HEADER + length) };
      left = left.subarray(HEADER + length);
    }
    // A copy: else the whole chunk would be held for a few bytes.
    this.#held = Buffer.from(left);
  }
}

/** Has `take` called with each frame that comes out of a stream. One that ends, or says what is no frame, is over. */
export function takeFrames(stream: Duplex, take: (frame: FlowFrame) => void): void {
  const reader = new FlowFrameReader();
  stream.on("end", () => stream.destroy());
  stream.on("data", (chunk: Buffer) => {
    try {
      for (const frame of reader.read(chunk)) take(frame);
    } catch {
      stream.destroy();
    }
  });
}

/** Datagrams wait for nobody: beyond so many bytes that have not gone yet, they are lost. */
export const MOST_HELD = 256 * 1024;
/** A flow that is silent for so long has ended. */
export const FLOW_IDLE_MS = 60_000;
