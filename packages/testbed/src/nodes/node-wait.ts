import type { Clock } from "@fjord/base";
import type { Site, StartOptions } from "../site.ts";
import { waitFor } from "../wait.ts";
import { NodeEndedError, NodeNotReadyError, TooFewInotifyError } from "./errors.ts";
import type { RealNode } from "./node.ts";
import type { NodeProcess } from "./node-processes.ts";
import { readyCondition } from "./node-ready.ts";

/** What was looked for, or what was seen instead. */
type Look = { done: true } | { done: false; seen: string };

/** Waits for nodes on their way to Ready, within one limit of time for all of it. */
export class NodeWait {
  readonly #site: Site;
  readonly #clock: Clock;
  readonly #options: StartOptions;
  readonly #deadline: number;

  constructor(site: Site, clock: Clock, options: StartOptions) {
    this.#site = site;
    this.#clock = clock;
    this.#options = options;
    this.#deadline = clock.now() + options.timeout;
  }

  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  async namespaces(node: RealNode): Promise<void> {
    await this.#until(node, "its namespaces to be there", ["namespaces"], () =>
      Promise.resolve(node.hasNamespaces ? { done: true } : { done: false, seen: "nothing" }),
    );
  }

  async containerd(node: RealNode, ctr: string): Promise<void> {
    await this.#until(node, "containerd to answer", ["containerd"], () =>
      attempt(() => node.run([ctr, "--timeout", "2s", "version"], "ask containerd", this.#abort())),
    );
  }

  /** Until the kubelet has said what addresses the node has. */
  async registered(node: RealNode): Promise<void> {
    await this.#until(node, "the node to have an address", ["kubelet"], async () => {
      const { status, text } = await this.#site.get(`/api/v1/nodes/${node.name}`);
      const found = status === 200 && (JSON.parse(text) as { status?: { addresses?: unknown[] } }).status?.addresses;
      return found && found.length > 0 ? { done: true } : { done: false, seen: text.slice(0, 200) };
    });
  }

  /** Until the kubelet has reported that pods can run, and kube-proxy has not given up. */
  async ready(node: RealNode): Promise<void> {
    await this.#until(node, "the node to be Ready", node.processes, async () => {
      const ready = await readyCondition(this.#site, node.name);
      if (typeof ready === "string") return { done: false, seen: ready };
      return ready.status === "True" ? { done: true } : { done: false, seen: ready.message };
    });
  }

  /** Until every node gets an answer from cluster DNS by the address of its service: that takes all there is to work. */
  async dnsAnswers(nodes: readonly RealNode[], busybox: string): Promise<void> {
    const question = ["nslookup", "kubernetes.default.svc.cluster.local", this.#site.layout.dnsServiceAddress];
    await Promise.all(
      nodes.map((node) =>
        this.#until(node, "cluster DNS to answer", node.processes, () =>
          attempt(() => node.run(["timeout", "2", busybox, ...question], "ask cluster DNS", this.#abort())),
        ),
      ),
    );
  }

  async #until(node: RealNode, what: string, needed: readonly NodeProcess[], look: () => Promise<Look>): Promise<void> {
    let last = "nothing";
    const done = await waitFor(
      async () => {
        const result = await look();
        if (result.done) return true;
        last = result.seen;
        failIfEnded(node, what, needed);
        return false;
      },
      { clock: this.#clock, timeout: Math.max(1, this.#deadline - this.#clock.now()), interval: 100, ...this.#abort() },
    );
    const seconds = Math.round(this.#options.timeout / 1000);
    if (!done) throw new NodeNotReadyError({ node: node.name, what, seconds, last });
  }

  #abort(): { signal?: AbortSignal } {
    const { signal } = this.#options;
    return signal === undefined ? {} : { signal };
  }
}

async function attempt(action: () => Promise<unknown>): Promise<Look> {
  try {
    await action();
    return { done: true };
  } catch (error) {
    return { done: false, seen: error instanceof Error ? error.message : String(error) };
  }
}

/** The kubelet and containerd name what there are too few of; kube-proxy, which opens nothing else as it begins, does not. */
export function lacksInotify(log: string): boolean {
  return /inotify.*too many open files|err="failed complete: too many open files"/.test(log);
}

function failIfEnded(node: RealNode, what: string, needed: readonly NodeProcess[]): void {
  for (const name of needed) {
    const process = node.process(name);
    if (process.running) continue;
    const { log } = process.record;
    const tail = process.logTail();
    if (lacksInotify(tail)) throw new TooFewInotifyError({ process: name, node: node.name, log });
    throw new NodeEndedError({ process: name, node: node.name, what, log, tail });
  }
}
