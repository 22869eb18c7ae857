import type { Clock } from "@fjord/base";
import type {
  ContainerConfig,
  ContainerResources,
  ImageStatus,
  ImageStore,
  Runtime,
  RuntimeContainer,
  RuntimeSandbox,
  SandboxConfig,
} from "../../runtime/index.ts";
import type { CommandStreams } from "../../stream/command-streams.ts";

type Changing<T> = { -readonly [K in keyof T]: T[K] };
export type FakeContainer = Changing<RuntimeContainer> & { config: ContainerConfig };
export type FakeSandbox = Changing<Omit<RuntimeSandbox, "containers">> & {
  containers: FakeContainer[];
  config: SandboxConfig;
};

/** A runtime in memory for tests: containers run until they are told to exit or are stopped. It keeps what it was asked. */
export class FakeRuntime implements Runtime {
  readonly sandboxes: FakeSandbox[] = [];
  /** `createContainer web 0`, in the order of the calls. */
  readonly calls: string[] = [];
  /** Thrown by the next calls of that name, one each. */
  readonly failures = new Map<string, Error[]>();
  /** Containers that were started beside another of their name. */
  readonly twins: string[] = [];
  /** Whether containers end when asked to; else only when they are killed. */
  obeysStop = true;
  execResult: (command: readonly string[]) => number | Promise<number> = () => 0;
  resizeSandbox: Runtime["resizeSandbox"];
  objectionsTo: (pod: unknown) => string[] = () => [];
  judgeEphemeral: Runtime["judgeEphemeral"];
  readonly images: FakeImages | undefined;
  readonly #clock: Clock;
  #next = 1;
  #tell = new Set<(uid: string) => void>();

  constructor(clock: Clock, images?: FakeImages) {
    this.#clock = clock;
    this.images = images;
  }

  async version() {
    return { name: "fake", version: "1" };
  }

  async health() {
    this.#maybeFail("health");
    return { ready: true };
  }

  objections(pod: unknown): string[] {
    return this.objectionsTo(pod);
  }

  async list(): Promise<RuntimeSandbox[]> {
    this.#maybeFail("list");
    return structuredClone(this.sandboxes);
  }

  async *changes(signal: AbortSignal): AsyncIterable<string> {
    const changed: string[] = [];
    let wake = () => {};
    const listener = (uid: string) => {
      changed.push(uid);
      wake();
    };
    this.#tell.add(listener);
    signal.addEventListener("abort", () => wake());
    while (!signal.aborted) {
      for (let uid = changed.shift(); uid !== undefined; uid = changed.shift()) yield uid;
      if (signal.aborted) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    this.#tell.delete(listener);
  }

  async runSandbox(config: SandboxConfig): Promise<string> {
    this.#call("runSandbox", config.pod.name, config.attempt);
    const id = `sandbox-${this.#next++}`;
    const addresses = config.namespaces.hostNetwork ? [] : [`10.0.0.${this.#next}`];
    this.sandboxes.unshift({
      id,
      pod: config.pod,
      attempt: config.attempt,
      state: "ready",
      createdAt: this.#clock.now(),
      addresses,
      annotations: config.annotations,
      containers: [],
      config,
    });
    this.#changed(config.pod.uid);
    return id;
  }

  async stopSandbox(id: string): Promise<void> {
    this.#call("stopSandbox", id);
    const sandbox = this.sandboxes.find((candidate) => candidate.id === id);
    if (sandbox === undefined) return;
    for (const { id, state } of sandbox.containers) if (state === "running") this.exit(id, 137);
    sandbox.state = "notReady";
    this.#changed(sandbox.pod.uid);
  }

  async removeSandbox(id: string): Promise<void> {
    this.#call("removeSandbox", id);
    const index = this.sandboxes.findIndex((candidate) => candidate.id === id);
    if (index !== -1) this.sandboxes.splice(index, 1);
  }

  async createContainer(sandboxId: string, config: ContainerConfig): Promise<string> {
    this.#call("createContainer", config.name, config.attempt);
    const sandbox = this.sandboxes.find((candidate) => candidate.id === sandboxId);
    if (sandbox?.state !== "ready") throw new Error(`no sandbox ${sandboxId}`);
    const id = `${config.name}-${this.#next++}`;
    sandbox.containers.unshift({
      id,
      sandbox: sandboxId,
      name: config.name,
      attempt: config.attempt,
      state: "created",
      createdAt: this.#clock.now(),
      image: config.image,
      imageId: config.imageId || "sha256:0",
      annotations: config.annotations,
      logFile: "",
      resources: config.resources,
      config,
    });
    this.#changed(sandbox.pod.uid);
    return id;
  }

  async startContainer(id: string): Promise<void> {
    const container = this.container(id);
    this.#call("startContainer", container.name, container.attempt);
    const twin = this.running(container.name, this.#sandboxOf(id).pod.uid);
    if (twin !== undefined) this.twins.push(id);
    container.state = "running";
    container.startedAt = this.#clock.now();
    this.#changed(this.#sandboxOf(id).pod.uid);
  }

  async stopContainer(id: string, graceSeconds: number, signal?: AbortSignal): Promise<void> {
    const container = this.sandboxes.flatMap(({ containers }) => containers).find((candidate) => candidate.id === id);
    this.#call("stopContainer", container?.name ?? id, graceSeconds);
    if (container?.state !== "running") return;
    if (this.obeysStop) return this.exit(id, 0);
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#clock.after(graceSeconds * 1000, resolve);
      signal?.addEventListener("abort", () => {
        cancel();
        reject(signal.reason);
      });
    });
    if (container.state === "running") this.exit(id, 137);
  }

  async removeContainer(id: string): Promise<void> {
    this.#call("removeContainer", id);
    for (const sandbox of this.sandboxes) {
      sandbox.containers = sandbox.containers.filter((container) => container.id !== id);
    }
  }

  async updateResources(id: string, resources: ContainerResources): Promise<void> {
    const container = this.container(id);
    this.#call("updateResources", container.name);
    container.resources = resources;
    this.#changed(this.#sandboxOf(id).pod.uid);
  }

  async exec(id: string, command: readonly string[], _: CommandStreams, signal?: AbortSignal): Promise<number> {
    this.#call("exec", this.container(id).name, ...command);
    const aborted = new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    return await Promise.race([this.execResult(command), aborted]);
  }

  async attach(): Promise<void> {}
  async portForward(): Promise<void> {}
  async reopenLog(): Promise<void> {}

  async stats() {
    return { sandboxes: [], containers: [] };
  }

  /** Lets a container end by itself. */
  exit(id: string, exitCode: number): void {
    const container = this.container(id);
    container.state = "exited";
    container.exitCode = exitCode;
    container.finishedAt = this.#clock.now();
    container.reason = exitCode === 0 ? "Completed" : "Error";
    this.#changed(this.#sandboxOf(id).pod.uid);
  }

  /** The sandbox goes, and its containers with it. */
  loseSandbox(id: string): void {
    const sandbox = this.sandboxes.find((candidate) => candidate.id === id);
    if (sandbox === undefined) return;
    for (const container of sandbox.containers) if (container.state === "running") this.exit(container.id, 137);
    sandbox.state = "notReady";
    this.#changed(sandbox.pod.uid);
  }

  /** The running container of a name. */
  running(name: string, podUid?: string): FakeContainer | undefined {
    return this.sandboxes
      .filter(({ pod }) => podUid === undefined || pod.uid === podUid)
      .flatMap(({ containers }) => containers)
      .find((container) => container.name === name && container.state === "running");
  }

  container(id: string): FakeContainer {
    const found = this.sandboxes.flatMap(({ containers }) => containers).find((container) => container.id === id);
    if (found === undefined) throw new Error(`no container ${id}`);
    return found;
  }

  #sandboxOf(id: string): FakeSandbox {
    const { sandbox } = this.container(id);
    return this.sandboxes.find((candidate) => candidate.id === sandbox) as FakeSandbox;
  }

  #call(name: string, ...rest: (string | number)[]): void {
    this.calls.push([name, ...rest].join(" "));
    this.#maybeFail(name);
  }

  #maybeFail(name: string): void {
    const error = this.failures.get(name)?.shift();
    if (error !== undefined) throw error;
  }

  #changed(uid: string): void {
    for (const tell of this.#tell) tell(uid);
  }
}

/** Images by name; those with an error cannot be pulled. */
export class FakeImages implements ImageStore {
  readonly present = new Map<string, ImageStatus>();
  readonly registry = new Map<string, ImageStatus | Error>();
  readonly pulls: string[] = [];

  async status(image: string): Promise<ImageStatus | undefined> {
    return this.present.get(image);
  }

  async pull(image: string): Promise<string> {
    this.pulls.push(image);
    await Promise.resolve();
    const found = this.registry.get(image);
    if (found === undefined) throw new Error(`${image}: not found`);
    if (found instanceof Error) throw found;
    this.present.set(image, found);
    return found.id;
  }

  async list(): Promise<ImageStatus[]> {
    return [...this.present.values()];
  }

  async remove(): Promise<void> {}

  async fileSystem() {
    return { mountpoint: "/", usedBytes: 0, inodesUsed: 0 };
  }
}
