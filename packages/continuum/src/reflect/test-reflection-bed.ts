// Two real sites with real agents, the one a node of the other, and a namespace of the one that is offloaded.
import { execFile } from "node:child_process";
import { sleep, systemClock } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
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
    await continuum.startAgents({ timeout: 120_000 });
    await continuum.share(bed.provider);
    await continuum.peer(bed.consumer, bed.provider);
    bed.twin = await bed.offload(NAMESPACE);
    return bed;
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

  /** An object as the provider has it, once `is` holds of it. Undefined where it is not to be there. */
  async twinOf<T = Record<string, never>>(
    resource: string,
    name: string,
    is: (object: T | undefined) => boolean = (object) => object !== undefined,
    namespace = this.twin,
  ): Promise<T> {
    return (await this.eventually(
      `${resource} ${name} at the provider`,
      () => this.get<T>("away", resource, name, namespace),
      is,
    )) as T;
  }

  async get<T>(where: "home" | "away", resource: string, name: string, namespace: string): Promise<T | undefined> {
    const text = await this.kubectl(where, "get", resource, name, "-n", namespace, "--ignore-not-found", "-o", "json");
    return text === "" ? undefined : (JSON.parse(text) as T);
  }

  async eventually<T>(what: string, look: () => Promise<T>, is: (found: T) => boolean): Promise<T> {
    const deadline = systemClock.now() + 90_000;
    for (;;) {
      const found = await look();
      if (is(found)) return found;
      if (systemClock.now() > deadline)
        throw new Error(`${what} did not come about: ${JSON.stringify(found, undefined, 1)?.slice(0, 4_000)}`);
      await sleep(systemClock, 150);
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
