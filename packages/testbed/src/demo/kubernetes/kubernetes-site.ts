import { Site as SiteKind } from "@fjord/api";
import type { Clock } from "@fjord/base";
import { type ClusterConfig, KubeClient } from "@fjord/kube";
import { startGateway } from "../../acceptance/linked-nodes.ts";
import { type SiteAgent, startSiteAgent } from "../../agents/index.ts";
import type { Bed } from "../../bed.ts";
import type { RealNode } from "../../nodes/node.ts";
import { CLOUD, type DemoSitePlan, pageOf } from "../demo-plan.ts";
import type { DemoSite, SubstrateStart } from "../substrate.ts";
import type { WideNetwork } from "./wide-network.ts";

/** Where a site is once all of them have their control planes and nodes. */
export interface Surroundings {
  readonly bed: Bed;
  readonly network: WideNetwork;
  /** The one that the site has. */
  readonly node: RealNode;
}

/** A site that is a cluster of the test bed, with an agent. */
export class KubernetesSite implements DemoSite {
  readonly plan: DemoSitePlan;
  readonly #clock: Clock;
  #where: Surroundings | undefined;
  #agent: SiteAgent | undefined;

  constructor(plan: DemoSitePlan, clock: Clock) {
    this.plan = plan;
    this.#clock = clock;
  }

  get name(): string {
    return this.plan.name;
  }

  get memory(): number {
    return this.#where?.bed.site(this.name).memory ?? 0;
  }

  async config(): Promise<ClusterConfig> {
    return this.#surroundings.bed.site(this.name).config;
  }

  /** Starts its agent, and the gateway of its links on its node. An edge says where the cloud reaches it: the two go through the network that can be cut. */
  async join(where: Surroundings, { page, control, signal }: SubstrateStart): Promise<void> {
    this.#where = where;
    const site = where.bed.site(this.name);
    const flags = [
      `--tier=${this.plan.tier}`,
      `--page-listen=${new URL(pageOf(this.plan)).host}`,
      `--page-files=${page}`,
      "--page-actions",
      `--page-demo=${control}`,
    ];
    this.#agent = await startSiteAgent(site, { flags, signal, clock: this.#clock });
    const { podCidrs: podRanges, nodeNetwork } = site.layout;
    const endpoint = `${where.network.addressOf(this.name)}:51820`;
    // Whoever comes to a node's port comes by the node's address, wherever the pod is that answers.
    const machines = nodeNetwork === undefined ? [] : [nodeNetwork.cidr];
    const spec = {
      network: { podRanges, endpoints: [endpoint], machines },
      ...(this.name !== CLOUD && { endpoints: [await this.endpointFor(CLOUD)] }),
    };
    await using client = new KubeClient(site.config, { closeGraceMs: 1_000 });
    await client.patch(SiteKind, { name: this.name }, "merge", { spec }, { signal });
    await startGateway(site, where.node, "gateway", `--endpoint=${endpoint}`);
  }

  /** Where another site reaches its agent. */
  async endpointFor(other: string): Promise<string> {
    if (this.#agent === undefined) throw new Error(`${this.name} has no agent yet`);
    const path = this.#surroundings.bed.path(other, this.name);
    const { host, port } = await path.expose(this.#agent.peerAddress);
    return `https://${host}:${port}`;
  }

  /** Its cables are pulled: that of its agent, and that of its pods. All that runs there goes on. */
  async cut(): Promise<void> {
    const { bed, network } = this.#surroundings;
    await network.setUp(this.name, false);
    for (const other of this.#others) await bed.cut(this.name, other);
  }

  async heal(): Promise<void> {
    const { bed, network } = this.#surroundings;
    for (const other of this.#others) await bed.heal(this.name, other);
    await network.setUp(this.name, true);
  }

  tail(): string {
    return this.#agent?.process.logTail(5) ?? "";
  }

  get #others(): string[] {
    return this.#surroundings.bed.sites.map(({ name }) => name).filter((name) => name !== this.name);
  }

  get #surroundings(): Surroundings {
    if (this.#where === undefined) throw new Error(`${this.name} was not started`);
    return this.#where;
  }
}
