import { once } from "node:events";
import { open } from "node:fs/promises";
import type { Writable } from "node:stream";
import { describeError } from "@fjord/base";
import { type CapturedPacket, packetLine, pcapHeader, pcapRecord } from "@fjord/continuum/network-capture";
import { FileUnwritten } from "../../errors.ts";

/** Where packets go. */
export interface CaptureOutput extends AsyncDisposable {
  write(packet: CapturedPacket): Promise<void>;
}

/** Lines, for people. */
export function lineOutput(print: (text: string) => void): CaptureOutput {
  return {
    write: async (packet) => print(`${packetLine(packet)}\n`),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** A file that nobody else reads, in the place of what was there. */
export async function fileOutput(path: string): Promise<CaptureOutput> {
  const failed = (cause: unknown) => new FileUnwritten({ path, reason: describeError(cause) }, { cause });
  const file = await open(path, "w", 0o600).catch((cause: unknown) => {
    throw failed(cause);
  });
  const write = async (bytes: Buffer) => {
    await file.writeFile(bytes).catch((cause: unknown) => {
      throw failed(cause);
    });
  };
  await write(pcapHeader());
  return { write: (packet) => write(pcapRecord(packet)), [Symbol.asyncDispose]: () => file.close() };
}

/** The same for another program to read. */
export async function pipeOutput(stream: Writable): Promise<CaptureOutput> {
  const write = async (bytes: Buffer) => {
    if (!stream.write(bytes)) await Promise.race([once(stream, "drain"), once(stream, "close")]);
  };
  await write(pcapHeader());
  return { write: (packet) => write(pcapRecord(packet)), [Symbol.asyncDispose]: async () => {} };
}
