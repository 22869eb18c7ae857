import { PassThrough, Writable } from "node:stream";
import { describeError } from "@fjord/base";
import type { KubeClient, TerminalSize } from "@fjord/kube";
import type { WebSocket } from "ws";

export interface TerminalTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container?: string;
}

const SHELL = "export TERM=xterm-256color; if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh";

/**
 * A shell in a container, over a WebSocket: binary messages are what is typed and what is shown, text messages are JSON
 * (`{"size":{"width","height"}}` from the page, `{"ended":...}` to it).
 */
export async function serveTerminal(
  socket: WebSocket,
  client: KubeClient,
  target: TerminalTarget,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, pod, container } = target;
  const stop = new AbortController();
  const stdin = new PassThrough();
  const sizes = new Sizes();
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      socket.send(chunk, { binary: true }, (error) => done(error ?? null));
    },
  });
  socket.on("message", (data, isBinary) => {
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
    if (isBinary) stdin.write(bytes);
    else sizes.push(sizeIn(bytes.toString("utf8")));
  });
  socket.on("close", () => stop.abort()).on("error", () => stop.abort());
  const over = AbortSignal.any([signal, stop.signal]);
  let ended: object;
  try {
    const { exitCode } = await client.exec(
      { namespace, name: pod },
      {
        ...(container !== undefined && { container }),
        command: ["/bin/sh", "-c", SHELL],
        stdin,
        stdout,
        tty: true,
        resize: sizes,
        signal: over,
      },
    );
    ended = { ended: `the shell ended with ${exitCode}`, exitCode };
  } catch (error) {
    ended = { ended: over.aborted ? "the session is over" : describeError(error) };
  }
  sizes.close();
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(ended));
  socket.close(1000);
}

function sizeIn(text: string): TerminalSize | undefined {
  try {
    const { size } = JSON.parse(text) as { size?: { width?: unknown; height?: unknown } };
    const { width, height } = size ?? {};
    const isSize = (value: unknown): value is number =>
      Number.isInteger(value) && Number(value) > 0 && Number(value) < 10_000;
    return isSize(width) && isSize(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

/** Sizes as they come: only the newest waits. */
class Sizes implements AsyncIterable<TerminalSize> {
  #waiting: TerminalSize | undefined;
  #wake: () => void = () => {};
  #closed = false;

  push(size: TerminalSize | undefined): void {
    if (size !== undefined) this.#waiting = size;
    this.#wake();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TerminalSize, void, void> {
    while (!this.#closed) {
      const size = this.#waiting;
      this.#waiting = undefined;
      if (size !== undefined) yield size;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
