import { SpdyProtocol } from "./errors.ts";

/** What a frame may be, apart from its headers, which depend on those sent before. */
export const frameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const flag = { fin: 1, unidirectional: 2 } as const;

/** Why a stream was given up. */
export const resetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
  flowControlError: 7,
  streamAlreadyClosed: 9,
} as const;

export const goAwayStatus = { ok: 0, protocolError: 1, internalError: 2 } as const;

export const INITIAL_WINDOW_SETTING = 7;
const VERSION = 3;
const MAX_LENGTH = 0xffffff;

export interface ControlFrame {
  readonly type: number;
  readonly flags: number;
  readonly payload: Buffer;
}

export function encodeControl(type: number, flags: number, ...payload: readonly Buffer[]): Buffer {
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  if (length > MAX_LENGTH) throw new SpdyProtocol({ problem: `a frame of ${length} bytes cannot be sent` });
  const header = Buffer.alloc(8);
  header.writeUInt16BE(0x8000 | VERSION, 0);
  header.writeUInt16BE(type, 2);
  header.writeUInt32BE(((flags << 24) | length) >>> 0, 4);
  return Buffer.concat([header, ...payload]);
}

export function encodeDataHeader(stream: number, length: number, fin: boolean): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(stream, 0);
  header.writeUInt32BE((((fin ? flag.fin : 0) << 24) | length) >>> 0, 4);
  return header;
}

export function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    bytes.writeUInt32BE(value >>> 0, index * 4);
  });
  return bytes;
}

/** One 32-bit number of a control frame's payload. */
export function numberAt(frame: ControlFrame, offset: number): number {
  if (frame.payload.length < offset + 4)
    throw new SpdyProtocol({ problem: `a frame of type ${frame.type} is too short` });
  return frame.payload.readUInt32BE(offset);
}

/** A stream's number, without the bit that is reserved. */
export function streamAt(frame: ControlFrame, offset = 0): number {
  return numberAt(frame, offset) & 0x7fffffff;
}

/** Those of a SETTINGS frame, by number. */
export function decodeSettings(frame: ControlFrame): Map<number, number> {
  const count = numberAt(frame, 0);
  if (frame.payload.length !== 4 + count * 8)
    throw new SpdyProtocol({ problem: "a SETTINGS frame has the wrong length" });
  const settings = new Map<number, number>();
  for (let i = 0; i < count; i++) {
    settings.set(numberAt(frame, 4 + i * 8) & 0xffffff, numberAt(frame, 8 + i * 8));
  }
  return settings;
}

export function encodeSettings(settings: ReadonlyMap<number, number>): Buffer {
  const values = [...settings].flat();
  return encodeControl(frameType.settings, 0, numbers(settings.size, ...values));
}
