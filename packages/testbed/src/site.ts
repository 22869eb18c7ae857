import { mkdir, readFile } from "node:fs/promises";
import { type Clock, systemClock } from "@fjord/base";
import type { ClusterConfig, TlsConfig } from "@fjord/kube";
import type { Binaries } from "./binaries/find.ts";
import { componentArguments, controlPlaneComponents, siteComponents } from "./control-plane.ts";
import { NoSuchProcessError, NotReadyError, ProcessEndedError } from "./errors.ts";
import { ManagedProcess } from "./managed-process.ts";
import { MICROKUBE, microkubeProcess } from "./microkube-process.ts";
import type { ProcessRecord, Resource } from "./process-record.ts";
import { createCredentials } from "./site-credentials.ts";
import { type SiteLayout, siteFiles, siteServer } from "./site-layout.ts";
import { probe } from "./site-probe.ts";
import type { StateFile } from "./state.ts";
import { waitFor } from "./wait.ts";

export interface SiteOptions {
  state: StateFile;
  environment: Readonly<Record<string, string>>;
  dieWithParent?: string;
  clock?: Clock;
}

export interface StartOptions {
  /** Milliseconds until a site that is not ready counts as failed. */
  timeout: number;
  signal?: AbortSignal;
}

/** One Kubernetes control plane of the bed, with whatever else was added to it. */
export class Site {
  readonly layout: SiteLayout;
  readonly #options: SiteOptions;
  readonly #clock: Clock;
  readonly #processes = new Map<string, ManagedProcess>();
  #tls: TlsConfig | undefined;

  constructor(layout: SiteLayout, options: SiteOptions) {
    this.layout = layout;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    for (const record of options.state.state.processes) {
      if (record.site === layout.name) this.#processes.set(record.name, this.#manage(record));
    }
  }

  get name(): string {
    return this.layout.name;
  }

  /** Path of the kubeconfig file of the site's administrator. */
  get kubeconfig(): string {
    return siteFiles(this.layout).adminKubeconfig;
  }

  /** What the administrator's kubeconfig says, ready for a client. Only once the site was started. */
  get config(): ClusterConfig {
    if (this.#tls === undefined) throw new Error(`${this.name} was not started`);
    return { server: siteServer(this.layout), namespace: "default", tls: this.#tls };
  }

  get processes(): readonly ManagedProcess[] {
    return [...this.#processes.values()];
  }

  /** Resident memory of all its processes, in bytes. */
  get memory(): number {
    return this.processes.reduce((sum, process) => sum + process.memory, 0);
  }

  /** All of a control plane in one process answers to the names of all its parts. */
  process(name: string): ManagedProcess {
    const isPart = this.layout.kubernetes === "microkube" && controlPlaneComponents.some((part) => part === name);
    const process = this.#processes.get(isPart ? MICROKUBE : name);
    if (process === undefined) {
      const processes = [...this.#processes.keys()].join(", ");
      throw new NoSuchProcessError({ site: this.name, process: name, processes });
    }
    return process;
  }

  /** Adds a process, recorded so that it goes with the bed whatever happens; the caller starts it. */
  addProcess(record: Omit<ProcessRecord, "site" | "log" | "identity">): ManagedProcess {
    const process = this.#manage({ ...record, site: this.name, log: siteFiles(this.layout).log(record.name) });
    this.#options.state.putProcess(process.record);
    this.#processes.set(process.name, process);
    return process;
  }

  removeProcess(name: string): void {
    this.#processes.delete(name);
    this.#options.state.removeProcess(this.name, name);
  }

  /** Records something outside the run directory, before it is made, so that it goes with the bed whatever happens. */
  addResource(resource: Resource): void {
    this.#options.state.addResource(resource);
  }

  removeResource(resource: Resource): void {
    this.#options.state.removeResource(resource);
  }

  /** Writes what the control plane needs, without starting anything. */
  async prepare(binaries: Binaries): Promise<void> {
    const files = siteFiles(this.layout);
    await mkdir(files.logs, { recursive: true, mode: 0o700 });
    await mkdir(files.etcdData, { recursive: true, mode: 0o700 });
    await createCredentials(this.layout, this.#clock.now());
    const { kubernetes } = this.layout;
    if (kubernetes === "microkube") this.addProcess(microkubeProcess(this.layout));
    else {
      for (const name of siteComponents(this.layout)) {
        const args = componentArguments[name](this.layout);
        this.addProcess({ name, file: binaries.path(name, kubernetes), args });
      }
    }
    await this.load();
  }

  /** Reads the administrator's credentials: for a site that another program has prepared. */
  async load(): Promise<void> {
    const files = siteFiles(this.layout);
    const [ca, cert, key] = await Promise.all(
      [files.certificate("ca"), files.certificate("admin"), files.key("admin")].map((file) => readFile(file, "utf8")),
    );
    this.#tls = { ca, cert, key } as TlsConfig;
  }

  /** Starts what of the control plane does not run, and waits until it serves. */
  async start(options: StartOptions): Promise<void> {
    const deadline = this.#clock.now() + options.timeout;
    const left = (): StartOptions => ({ ...options, timeout: Math.max(1, deadline - this.#clock.now()) });
    if (this.layout.kubernetes === "microkube") {
      await this.process(MICROKUBE).start();
      await this.ready(left());
      return;
    }
    await this.process("etcd").start();
    // The API server looks for etcd once a second: waiting here instead saves most of one.
    await this.#until("etcd to serve", () => this.#etcdServes(), left());
    await this.process("kube-apiserver").start();
    await this.#until("the API server to be ready", () => this.#apiserverReady(), left());
    for (const name of siteComponents(this.layout).slice(2)) await this.process(name).start();
    await this.ready(left());
  }

  /** Waits until the API server is ready and, with a controller manager, pods could be created. */
  async ready(options: StartOptions = { timeout: 60_000 }): Promise<void> {
    const deadline = this.#clock.now() + options.timeout;
    await this.#until("the API server to be ready", () => this.#apiserverReady(), options);
    if (this.layout.components === "apiserver") return;
    await this.#until("the default service account to exist", () => this.#serviceAccountExists(), {
      ...options,
      timeout: Math.max(1, deadline - this.#clock.now()),
    });
  }

  /** One GET of the API server as administrator. */
  get(path: string) {
    return probe(`${siteServer(this.layout)}${path}`, this.config.tls);
  }

  async #etcdServes(): Promise<Answer> {
    const files = siteFiles(this.layout);
    const [ca, cert, key] = await Promise.all(
      [files.certificate("etcd-ca"), files.certificate("etcd-client"), files.key("etcd-client")].map((file) =>
        readFile(file, "utf8"),
      ),
    );
    const tls = { ca, cert, key } as TlsConfig;
    return answerOf(await probe(`https://127.0.0.1:${this.layout.ports.etcd}/health`, tls));
  }

  async #apiserverReady(): Promise<Answer> {
    return answerOf(await this.get("/readyz"));
  }

  async #serviceAccountExists(): Promise<Answer> {
    return answerOf(await this.get("/api/v1/namespaces/default/serviceaccounts/default"));
  }

  async #until(what: string, condition: () => Promise<Answer>, options: StartOptions): Promise<void> {
    let last = "none";
    const done = await waitFor(
      async () => {
        const answer = await condition();
        last = answer.text;
        if (!answer.ok) this.#failIfEnded(what);
        return answer.ok;
      },
      { ...options, clock: this.#clock },
    );
    if (!done) throw new NotReadyError({ site: this.name, what, seconds: Math.round(options.timeout / 1000), last });
  }

  #failIfEnded(what: string): void {
    for (const process of this.processes) {
      if (process.record.identity === undefined || process.running) continue;
      const { log } = process.record;
      throw new ProcessEndedError({ process: process.name, site: this.name, what, log, tail: process.logTail() });
    }
  }

  #manage(record: ProcessRecord): ManagedProcess {
    const { state, environment, dieWithParent, clock } = this.#options;
    return new ManagedProcess(record, {
      changed: (changed) => state.putProcess(changed),
      environment,
      ...(dieWithParent === undefined ? {} : { dieWithParent }),
      ...(clock === undefined ? {} : { clock }),
    });
  }
}

interface Answer {
  ok: boolean;
  text: string;
}

function answerOf({ status, text }: { status: number; text: string }): Answer {
  return { ok: status === 200, text: status === 0 ? text : `HTTP ${status} ${text.slice(0, 200)}` };
}
