import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { type Clock, silentLogger } from "@fjord/base";
import type { Bed } from "../../bed.ts";
import { which } from "../../binaries/find.ts";
import { removeBed } from "../../leftovers.ts";
import { type RealNode, RealNodes } from "../../nodes/index.ts";
import { allowInotify } from "../../nodes/inotify.ts";
import { Registry } from "../../registry.ts";
import { startBed } from "../../start-bed.ts";
import { type Capacity, CLOUD, type DemoSitePlan } from "../demo-plan.ts";
import type { Substrate, SubstrateStart } from "../substrate.ts";
import { findGround, type Ground } from "./ground.ts";
import { KubernetesSite } from "./kubernetes-site.ts";
import { shopImage } from "./shop-image.ts";
import { WideNetwork } from "./wide-network.ts";

export interface KubernetesSubstrateOptions {
  readonly directory: string;
  readonly plans: readonly DemoSitePlan[];
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
}

const START_MS = 240_000;

/** Sites that are real Kubernetes clusters, with a kubelet and containers each, on a test bed. */
export class KubernetesSubstrate implements Substrate {
  readonly title = "five Kubernetes clusters with a node each";
  /** Gateways on their nodes carry what pods of different sites say to each other. */
  readonly peering = ["--link"];
  readonly sites: readonly KubernetesSite[];
  readonly #options: KubernetesSubstrateOptions;
  readonly #registry = new Registry();
  #ground: Ground | undefined;
  #bed: Bed | undefined;
  #nodeAddress = "";

  constructor(options: KubernetesSubstrateOptions) {
    this.#options = options;
    this.sites = options.plans.map((plan) => new KubernetesSite(plan, options.clock));
  }

  get kubectl(): string | undefined {
    return this.#ground?.binaries.path("kubectl");
  }

  get nodeAddress(): string {
    return this.#nodeAddress;
  }

  async start(options: SubstrateStart): Promise<void> {
    const { env, clock, plans } = this.#options;
    const { signal, told } = options;
    this.#ground = await findGround({ env, signal, told });
    const { binaries, tools } = this.#ground;
    // Five control planes and five nodes take about as many as many systems allow.
    const giveBack = allowInotify();
    if (giveBack !== undefined) process.once("exit", giveBack);
    const capacityOf = (name: string) => plans.find((plan) => plan.name === name)?.capacity;
    const kubeletSettings = (name: string) => settingsFor(capacityOf(name));
    const nodes = new RealNodes({ binaries, tools, kubeletSettings, clock });
    const bed = await this.#startBed(nodes, binaries, signal);
    const image = shopImage();
    await Promise.all(bed.sites.map((site) => nodes.loadImage(site, image, signal)));
    told("the shop's image is on every node");
    const berthed = bed.sites.flatMap((site) => nodes.nodes(site).map((node) => ({ site, node })));
    this.#nodeAddress = nodes.nodes(bed.site(CLOUD))[0]?.plan.address ?? "";
    const network = new WideNetwork({ bed: bed.id, sites: berthed, ip: tools.programs.ip });
    await network.open();
    await Promise.all(
      this.sites.map(async (site) => {
        const [node] = nodes.nodes(bed.site(site.name)) as [RealNode];
        await site.join({ bed, network, node }, options);
        told(`${site.name} is there`);
      }),
    );
  }

  async wayToCloud(edge: string): Promise<readonly string[]> {
    const cloud = this.sites.find(({ name }) => name === CLOUD);
    return cloud === undefined ? [] : [`--endpoint=${await cloud.endpointFor(edge)}`];
  }

  async remove(): Promise<void> {
    await this.#bed?.stop();
    for (const bed of this.#registry.list())
      if (bed.directory === this.#bedDirectory) await removeBed(bed, { registry: this.#registry, log: silentLogger });
  }

  async #startBed(provider: RealNodes, binaries: Ground["binaries"], signal: AbortSignal): Promise<Bed> {
    const { env, clock, plans } = this.#options;
    const setpriv = which("setpriv", env);
    this.#bed = await startBed({
      sites: plans.map(({ name }) => name),
      directory: this.#bedDirectory,
      nodes: { count: 1, provider },
      binaries,
      registry: this.#registry,
      clock,
      timeout: START_MS,
      signal,
      ...(setpriv && { setpriv }),
    });
    return this.#bed;
  }

  get #bedDirectory(): string {
    return join(this.#options.directory, "bed");
  }
}

/** A kubelet has the whole machine: what of it is more than the plan says is set aside. */
function settingsFor(capacity: Capacity | undefined): Record<string, unknown> {
  if (capacity === undefined) return {};
  const cpu = Math.max(0, cpus().length - capacity.cpu);
  const mebibytes = Math.max(0, Math.floor(totalmem() / 2 ** 20) - capacity.memory * 1024);
  return { systemReserved: { cpu: String(cpu), memory: `${mebibytes}Mi` }, maxPods: capacity.pods };
}
