import type { Field, Init, Scalar, Schema } from "./message.ts";

const VARINT = 0;
const BYTES = 2;

/** A message as it travels. Fields that have their default are left out. */
export function encode<T>(schema: Schema<T>, message: Init<T>): Buffer {
  const parts: Buffer[] = [];
  for (const field of schema.fields()) writeField(parts, field, (message as Record<string, unknown>)[field[0]]);
  return Buffer.concat(parts);
}

function writeField(parts: Buffer[], [, number, type]: Field, value: unknown): void {
  if (value === undefined) return;
  if (type === "map") {
    for (const [key, each] of Object.entries(value as Record<string, string>)) {
      const entry: Buffer[] = [];
      writeField(entry, ["key", 1, "string"], key);
      writeField(entry, ["value", 2, "string"], each);
      writeBytes(parts, number, Buffer.concat(entry));
    }
  } else if (typeof type === "string") {
    writeScalar(parts, number, type, value);
  } else if ("fields" in type) {
    writeBytes(parts, number, encode(type, value as object));
  } else {
    writeAll(parts, number, type[0], value as readonly unknown[]);
  }
}

function writeAll(parts: Buffer[], number: number, type: Scalar | Schema<unknown>, values: readonly unknown[]): void {
  if (values.length === 0) return;
  if (typeof type !== "string") {
    for (const value of values) writeBytes(parts, number, encode(type, value as object));
  } else if (type === "string" || type === "bytes") {
    for (const value of values) writeBytes(parts, number, Buffer.from(value as string));
  } else {
    writeBytes(parts, number, Buffer.concat(values.map((value) => varint(BigInt(value as number)))));
  }
}

function writeScalar(parts: Buffer[], number: number, type: Scalar, value: unknown): void {
  if (type === "string" || type === "bytes") {
    const bytes = Buffer.from(value as string);
    if (bytes.length > 0) writeBytes(parts, number, bytes);
    return;
  }
  const integer = BigInt(value as number | bigint | boolean);
  if (integer !== 0n) parts.push(varint(BigInt(number * 8 + VARINT)), varint(integer));
}

function writeBytes(parts: Buffer[], number: number, bytes: Buffer): void {
  parts.push(varint(BigInt(number * 8 + BYTES)), varint(BigInt(bytes.length)), bytes);
}

/** Seven bits at a time, the lowest first; a negative number as 64 bits. */
function varint(value: bigint): Buffer {
  if (value >= 0n && value < 128n) return Buffer.of(Number(value));
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, value);
  for (; left >= 128n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  bytes.push(Number(left));
  return Buffer.from(bytes);
}
