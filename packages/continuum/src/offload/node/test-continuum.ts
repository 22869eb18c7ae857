import { execFile } from "node:child_process";
import { systemClock } from "@fjord/base";
import { type KubeClient, Node, type WatchEvent } from "@fjord/kube";
import type { Continuum } from "@fjord/testbed/agents";
import { type KubectlVersion, kubectlProgram } from "@fjord/testbed/testing";

/** Looks until something is there; throws when that takes too long. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeout = 60_000,
): Promise<T> {
  const deadline = Date.now() + timeout;
  let last: unknown;
  for (;;) {
    const found = await Promise.resolve()
      .then(look)
      .catch((error: unknown) => {
        last = error;
        return undefined;
      });
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`no ${what} within ${timeout} ms`, { cause: last });
    await new Promise((resolve) => systemClock.after(20, () => resolve(undefined)));
  }
}

export interface Said {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Real kubectl, which does not hold up the relays of the bed in this process. */
export function kubectlOf(continuum: Continuum, site: string, version: KubectlVersion = "1.36") {
  const file = kubectlProgram(version);
  return (args: readonly string[], options: { input?: string; env?: Record<string, string> } = {}): Promise<Said> =>
    new Promise((resolve) => {
      const command = ["--kubeconfig", continuum.site(site).kubeconfig, ...args];
      const env = { PATH: process.env.PATH, HOME: "/tmp", ...options.env };
      const child = execFile(file, command, { env, maxBuffer: 1 << 27 }, (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
        resolve({ exitCode, stdout, stderr });
      });
      child.stdin?.on("error", () => {});
      child.stdin?.end(options.input);
    });
}

/** What becomes of a Node, as whoever watches it sees. */
export class NodeWatch implements AsyncDisposable {
  readonly seen: Node[] = [];
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(client: KubeClient, name: string, resourceVersion: string) {
    this.#done = this.#run(client, name, resourceVersion);
  }

  async #run(client: KubeClient, name: string, resourceVersion: string): Promise<void> {
    const options = { fieldSelector: `metadata.name=${name}`, resourceVersion, signal: this.#stop.signal };
    try {
      for await (const event of client.watch(Node, options) as AsyncIterable<WatchEvent<Node>>)
        if (event.type === "MODIFIED") this.seen.push(event.object);
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async stop(): Promise<Node[]> {
    this.#stop.abort();
    await this.#done;
    return this.seen;
  }
}

export function readyOf(node: Node) {
  return node.status?.conditions?.find(({ type }) => type === "Ready");
}
