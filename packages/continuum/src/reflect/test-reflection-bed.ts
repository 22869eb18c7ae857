// Two real sites with real agents, the one a node of the other, and a namespace of the one that is offloaded.
import { execFile } from "node:child_process";
import { type Kind, type KubeObject, sleep, systemClock } from "@fjord/base";
import { isNotFound, type KubeClient } from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { Continuum, fjord } from "@fjord/testbed/agents";
import { startTestBed } from "@fjord/testbed/testing";

export const NAMESPACE = "shop";

/** A consumer and a provider, with what a test does to them. */
export class ReflectionBed implements AsyncDisposable {
  readonly continuum: Continuum;
  readonly home: KubeClient;
  readonly away: KubeClient;
  /** The twin of `NAMESPACE`. */
  twin = "";
  readonly #kubectl: string;

  private constructor(continuum: Continuum, kubectl: string) {
    this.continuum = continuum;
    const [consumer, provider] = continuum.bed.sites.map(({ name }) => name) as [string, string];
    this.home = continuum.client(consumer);
    this.away = continuum.client(provider);
    this.#kubectl = kubectl;
  }

  static async start(): Promise<ReflectionBed> {
    const continuum = new Continuum(await startTestBed({ sites: 2, components: "all", simulatedNodes: 1 }));
    const kubectl = findBinaries({ env: process.env }).binaries.path("kubectl");
    const bed = new ReflectionBed(continuum, kubectl);
    try {
      await continuum.startAgents({ timeout: 120_000 });
      await continuum.share(bed.provider);
      await continuum.peer(bed.consumer, bed.provider);
      bed.twin = await bed.offload(NAMESPACE);
      return bed;
    } catch (error) {
      // What is left of it would keep the process from ending.
      await bed[Symbol.asyncDispose]();
      throw error;
    }
  }

  get consumer(): string {
    return this.continuum.bed.sites[0]?.name ?? "";
  }

  get provider(): string {
    return this.continuum.bed.sites[1]?.name ?? "";
  }

  /** Makes a namespace whose pods all go to the provider. Gives its twin's name. */
  async offload(namespace: string): Promise<string> {
    await this.kubectl("home", "create", "namespace", namespace);
    await fjord(this.continuum.site(this.consumer), "offload", namespace, "--pods=Remote", "--timeout=120s");
    const path = "jsonpath={.status.sites[0].twin}";
    return await this.kubectl("home", "get", "offloading", "offloading", "-n", namespace, "-o", path);
  }

  kubectl(where: "home" | "away", ...args: readonly string[]): Promise<string> {
    return this.#run(where, args);
  }

  apply(where: "home" | "away", namespace: string, ...objects: readonly object[]): Promise<string> {
    const list = { apiVersion: "v1", kind: "List", items: objects };
    return this.#run(where, ["apply", "-n", namespace, "-f", "-"], JSON.stringify(list));
  }

  /** An object as the provider has it, once `is` holds of it. */
  async twinOf<T extends KubeObject>(
    kind: Kind<T>,
    name: string,
    is: (twin: T) => boolean = () => true,
    namespace = this.twin,
  ): Promise<T> {
    const look = () => this.find(this.away, kind, name, namespace);
    const isThere = (twin: T | undefined) => twin !== undefined && is(twin);
    return (await this.eventually(`${kind.kind} ${name} at the provider`, look, isThere)) as T;
  }

  /** Returns when the provider has no object of the name. */
  async noTwinOf<T extends KubeObject>(kind: Kind<T>, name: string, namespace = this.twin): Promise<void> {
    const look = () => this.find(this.away, kind, name, namespace);
    await this.eventually(`the end of ${kind.kind} ${name}`, look, (twin) => twin === undefined);
  }

  async find<T extends KubeObject>(
    client: KubeClient,
    kind: Kind<T>,
    name: string,
    namespace: string,
  ): Promise<T | undefined> {
    try {
      return await client.get(kind, { name, namespace });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return undefined;
    }
  }

  /** Sum of a counter of the consumer's agent over the labels that are named. */
  async counted(metric: string, labels: Readonly<Record<string, string>>): Promise<number> {
    const text = await (await fetch(`${this.continuum.agent(this.consumer).metricsUrl}/metrics`)).text();
    return text
      .split("\n")
      .filter((line) => line.startsWith(`${metric}{`))
      .filter((line) => Object.entries(labels).every(([name, value]) => line.includes(`${name}="${value}"`)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  async eventually<T>(what: string, look: () => Promise<T>, is: (found: T) => boolean): Promise<T> {
    const deadline = systemClock.now() + 90_000;
    for (;;) {
      const found = await look();
      if (is(found)) return found;
      if (systemClock.now() > deadline)
        throw new Error(`${what} did not come about: ${JSON.stringify(found, undefined, 1)?.slice(0, 4_000)}`);
      await sleep(systemClock, 50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.home.close(), this.away.close()]);
    await this.continuum[Symbol.asyncDispose]();
  }

  #run(where: "home" | "away", args: readonly string[], input?: string): Promise<string> {
    const { kubeconfig } = this.continuum.site(where === "home" ? this.consumer : this.provider);
    return new Promise((resolve, reject) => {
      const child = execFile(
        this.#kubectl,
        [...args, `--kubeconfig=${kubeconfig}`],
        { maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) => {
          if (error === null) resolve(stdout);
          else reject(new Error(`kubectl ${args.join(" ")} at ${where}: ${stderr}`));
        },
      );
      if (input !== undefined) child.stdin?.end(input);
    });
  }
}
