import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { RealNode } from "../nodes/node.ts";
import { enterFile } from "../nodes/node-scripts.ts";
import type { Order } from "./orders.ts";

const PROGRAM = fileURLToPath(new URL("stream-program.ts", import.meta.url));

type Answer = { readonly id: string } & Record<string, unknown>;

/** A program in the network namespace of a real pod: it serves streams there, and begins them. */
export class StreamPod implements Disposable {
  readonly #child: ChildProcess;
  readonly #awaited = new Map<string, (answer: Answer) => void>();

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdin?.on("error", () => {});
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const answer = JSON.parse(line) as Answer;
      this.#awaited.get(answer.id)?.(answer);
      this.#awaited.delete(answer.id);
    });
  }

  /** For the pod that has this address on the node. */
  static async start(node: RealNode, address: string): Promise<StreamPod> {
    const enter = [enterFile(node.directory), "nsenter", `--net=${await podNamespace(node, address)}`];
    const child = spawn("/bin/sh", [...enter, process.execPath, PROGRAM], { stdio: ["pipe", "pipe", "inherit"] });
    const pod = new StreamPod(child);
    const ended = new Promise<never>((_, reject) =>
      child.once("exit", (code) => reject(new Error(`the program in the pod ${address} ended with ${code}`))),
    );
    ended.catch(() => {});
    await Promise.race([pod.#heard("ready"), ended]);
    return pod;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  order(order: Order): void {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  /** `from`: only of what was begun from then on. */
  async report<T>(id: string, from = 0): Promise<T> {
    const heard = this.#heard(id);
    this.order({ do: "report", id, host: "", from });
    return (await heard) as T;
  }

  #heard(id: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`a stream program does not tell of ${id}`)), 30_000);
      this.#awaited.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
    });
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}

/** The file of the network namespace of the pod of a node that has this address. */
export async function podNamespace(node: RealNode, address: string): Promise<string> {
  const find = `for each in $(find /run/containerd -path "*/netns/*"); do
  if nsenter --net="$each" ip -4 -oneline address | grep -q " ${address}/"; then echo "$each"; fi
done`;
  const namespace = (await node.run(["sh", "-c", find], `find the pod ${address}`)).trim();
  if (namespace === "") throw new Error(`no pod of ${node.name} has the address ${address}`);
  return namespace;
}
