import { Socket } from "node:net";

type Done = (error?: Error | null) => void;

/**
 * A socket that fails by its reading end alone. A server that has said all it had to say and hung up makes the next write
 * fail; a plain socket would then throw away what the server said last, and has not been read.
 */
export class ReadFirstSocket extends Socket {
  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void {
    super._writev?.(chunks, () => done());
  }
}
