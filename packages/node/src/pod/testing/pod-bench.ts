import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { EventNote, Pod } from "@fjord/kube";
import type { PodSpec, PodStatus } from "../pod-containers.ts";
import { PodManager, type PodManagerOptions } from "../pod-manager.ts";
import type { PodSettings } from "../pod-settings.ts";
import { FakeApi } from "./fake-api.ts";
import { FakeRuntime } from "./fake-runtime.ts";

/** A pod as the API gives it. */
export function newPod(name: string, spec: Partial<PodSpec> = {}, metadata: Partial<Pod["metadata"]> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: `uid-${name}`, generation: 1, ...metadata },
    spec: { containers: [{ name: "web", image: "web:1" }], ...spec },
    status: { phase: "Pending", qosClass: "BestEffort" },
  };
}

/** A node of a test: its pod manager over a runtime and an API in memory, and a clock that moves when told to. */
export class PodBench implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly api = new FakeApi();
  readonly runtime: FakeRuntime;
  readonly events: (EventNote & { pod: string })[] = [];
  readonly settings: PodSettings;
  #options: Partial<PodManagerOptions>;
  #manager: PodManager | undefined;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(stateDirectory: string, options: Partial<PodManagerOptions>, runtime?: FakeRuntime) {
    this.runtime = runtime ?? new FakeRuntime(this.clock);
    this.#options = options;
    this.settings = {
      nodeName: "node-1",
      hostIPs: ["192.0.2.1"],
      stateDirectory,
      clusterDns: ["10.96.0.10"],
      clusterDomain: "cluster.local",
      cgroupRoot: "",
      memoryCapacity: 2 ** 33,
      allocatable: { cpu: 4000, memory: 2 ** 33, pods: 110 },
      ...options.settings,
    };
  }

  static async start(
    options: Partial<PodManagerOptions> = {},
    runtime?: (clock: ManualClock) => FakeRuntime,
  ): Promise<PodBench> {
    const bench = new PodBench(await mkdtemp(join(tmpdir(), "fjord-pods-")), options);
    if (runtime !== undefined) Object.assign(bench, { runtime: runtime(bench.clock) });
    bench.startNode();
    await bench.settle();
    return bench;
  }

  get manager(): PodManager {
    if (this.#manager === undefined) throw new Error("the node is not started");
    return this.#manager;
  }

  /** Options for the node's next start. */
  use(options: Partial<PodManagerOptions>): void {
    this.#options = { ...this.#options, ...options };
  }

  startNode(): void {
    this.#stop = new AbortController();
    this.#manager = new PodManager({
      source: this.api,
      objects: this.api.objects,
      volumes: this.api.volumes,
      client: this.api.client as unknown as PodManagerOptions["client"],
      events: { event: (object, note) => this.events.push({ ...note, pod: object.metadata.name ?? "" }) },
      runtimes: [this.runtime],
      runtimeOf: () => this.runtime,
      clock: this.clock,
      random: seededRandom(1),
      logger: silentLogger,
      ...this.#options,
      settings: this.settings,
    });
    this.#running = this.#manager.run(this.#stop.signal);
  }

  /** Ends the node's process, as an upgrade does. */
  async stopNode(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Lets everything happen that needs no more than a moment of the clock. */
  async settle(): Promise<void> {
    for (let round = 0; round < 40; round++) await this.#step(15);
  }

  async advance(seconds: number, stepSeconds = 0.5): Promise<void> {
    const step = stepSeconds * 1000;
    for (let left = seconds * 1000; left > 0; left -= step) await this.#step(Math.min(left, step));
    await this.settle();
  }

  /** Files that were being read or written when the step began have been when it ends: they wait in one queue. */
  async #step(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await Promise.all(Array.from({ length: 8 }, () => stat(this.settings.stateDirectory)));
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  async run(pod: Pod): Promise<void> {
    this.api.put(pod);
    await this.settle();
  }

  /** The pod's status in the API. */
  status(name: string): PodStatus {
    return this.api.pods.get(`uid-${name}`)?.status ?? {};
  }

  reasons(): string[] {
    return this.events.map(({ reason }) => reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopNode();
    await rm(this.settings.stateDirectory, { recursive: true, force: true });
  }
}
