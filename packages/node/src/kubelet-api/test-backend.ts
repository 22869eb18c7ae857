import { spawn } from "node:child_process";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { onAbort } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { readLog } from "../logs/index.ts";
import { type CommandStreams, finished, pour, type TerminalSize } from "../stream/index.ts";
import type { ContainerAddress, KubeletBackend, LogRequest } from "./backend.ts";
import { NoPreviousContainer } from "./errors.ts";
import type { Summary } from "./summary.ts";

/** A backend for tests: commands run on this machine, ports are this machine's, logs are files. */
export class TestBackend implements KubeletBackend {
  readonly list: Pod[] = [];
  readonly logFiles = new Map<string, string>();
  readonly sizes: TerminalSize[] = [];
  /** Commands that run now. */
  readonly running = new Set<number>();
  readonly ended = Promise.withResolvers<void>();
  attached: CommandStreams | undefined;
  sick = false;

  pods(): readonly Pod[] {
    return this.list;
  }

  async logs(address: ContainerAddress, request: LogRequest, signal: AbortSignal) {
    const { container, pod } = address;
    const file = this.logFiles.get(request.previous ? `${container}/previous` : container);
    if (file === undefined) throw new NoPreviousContainer({ container, pod });
    return await readLog(file, { ...request, signal, ...(request.follow && { ended: this.ended.promise }) });
  }

  async exec(_address: ContainerAddress, command: readonly string[], streams: CommandStreams, signal: AbortSignal) {
    const [file = "", ...args] = streams.tty ? ["script", "-qefc", command.join(" "), "/dev/null"] : command;
    this.#readSizes(streams);
    const child = spawn(file, args, { stdio: "pipe", detached: true });
    await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    const pid = child.pid as number;
    this.running.add(pid);
    const release = onAbort(signal, () => process.kill(-pid, "SIGKILL"));
    const exited = new Promise<number>((resolve) => child.once("exit", (code) => resolve(code ?? 137)));
    child.stdin.on("error", () => {});
    streams.stdin?.pipe(child.stdin);
    if (streams.stdin === undefined) child.stdin.end();
    const outputs = [
      [child.stdout, streams.stdout],
      [child.stderr, streams.stderr],
    ] as const;
    await Promise.all(
      outputs.map(async ([source, sink]) => {
        if (sink === undefined) return void source.resume();
        await pour(source, sink);
        sink.end();
        await finished(sink);
      }),
    );
    const code = await exited;
    release();
    this.running.delete(pid);
    return code;
  }

  async attach(_address: ContainerAddress, streams: CommandStreams, signal: AbortSignal): Promise<void> {
    this.attached = streams;
    this.#readSizes(streams);
    streams.stdout?.write("attached\n");
    if (streams.stdin !== undefined && streams.stdout !== undefined) await pour(streams.stdin, streams.stdout);
    else await new Promise<void>((resolve) => onAbort(signal, resolve));
  }

  async portForward(_pod: unknown, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    const target = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    await new Promise((resolve, reject) => target.once("connect", resolve).once("error", reject));
    const release = onAbort(signal, () => target.destroy());
    target.on("error", () => {});
    pour(stream, target).then(() => target.end());
    await pour(target, stream);
    stream.end();
    await finished(stream);
    release();
    target.destroy();
  }

  async summary(): Promise<Summary> {
    const time = new Date().toISOString();
    const cpu = { time, usageNanoCores: 250_000_000, usageCoreNanoSeconds: 5_000_000_000 };
    const memory = { time, workingSetBytes: 64 * 1024 * 1024 };
    const startTime = time;
    return {
      node: { nodeName: "test", startTime, cpu, memory, fs: { time, usedBytes: 1 } },
      pods: this.list.map(({ metadata }) => ({
        podRef: { name: metadata?.name ?? "", namespace: metadata?.namespace ?? "", uid: metadata?.uid ?? "" },
        startTime,
        containers: [{ name: "main", startTime, cpu, memory }],
        cpu,
        memory,
      })),
    };
  }

  healthy(): void {
    if (this.sick) throw new Error("pods have not been looked at for 3 minutes");
  }

  async #readSizes({ sizes }: CommandStreams): Promise<void> {
    if (sizes === undefined) return;
    for await (const size of sizes) this.sizes.push(size);
  }
}
