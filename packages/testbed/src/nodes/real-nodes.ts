import { readFile } from "node:fs/promises";
import { type Clock, describeError, type Logger, silentLogger, systemClock } from "@fjord/base";
import { KubeClient, Node } from "@fjord/kube";
import type { Binaries } from "../binaries/find.ts";
import type { NodeTools } from "../binaries/node-packages.ts";
import { Authority } from "../certificates.ts";
import type { NodeProvider } from "../node-provider.ts";
import type { Site, StartOptions } from "../site.ts";
import { type NodeNetwork, siteFiles } from "../site-layout.ts";
import { cgroupDirectories, cgroupMounts } from "./cgroups.ts";
import { runCommand } from "./command.ts";
import { NoControllersError, NoNodeNetworkError } from "./errors.ts";
import type { ImageRequest } from "./images.ts";
import { kubeRouterRights, type PodNetwork } from "./kube-router.ts";
import type { Kubelet } from "./kubelet-command.ts";
import { type NodePlan, planNodes, prefixLength } from "./network-plan.ts";
import { RealNode } from "./node.ts";
import { type NodeServices, nodeServices, serviceObjects, usualKubelet } from "./node-services.ts";
import { NodeWait } from "./node-wait.ts";
import { availableSnapshotter } from "./snapshotter.ts";
import { ImageMaker } from "./standard-images.ts";

export interface RealNodesOptions {
  /** With the set `nodes`. */
  binaries: Binaries;
  /** From `ensureNodePackages`. */
  tools: NodeTools;
  /** @default Kubernetes' own, or on microkube Fjord's */
  kubelet?: Kubelet;
  /** @default "plain" */
  podNetwork?: PodNetwork;
  /** For Kubernetes' kubelet: more of its configuration, by the name of the site. */
  kubeletSettings?: (site: string) => Readonly<Record<string, unknown>>;
  /** For Fjord's node: the bundle to run, inside this repository. @default its source */
  fjordProgram?: string;
  log?: Logger;
  clock?: Clock;
}

const fieldManager = "fjord-testbed";

/**
 * Gives sites real nodes: a kubelet, containerd and kube-proxy for each, in namespaces of its own that are joined to the
 * site's bridge, and cluster DNS in a pod; or, of Fjord's own, a node and containerd that need nothing beside them.
 */
export class RealNodes implements NodeProvider {
  readonly #options: RealNodesOptions;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #images: ImageMaker;
  readonly #nodes = new Map<string, readonly RealNode[]>();
  /** Sites by pod range. */
  readonly #ranges = new Map<string, Set<string>>();

  constructor(options: RealNodesOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#clock = options.clock ?? systemClock;
    this.#images = new ImageMaker(options.tools.programs.busybox, options.binaries.path("coredns"));
  }

  /** The nodes that `start` gave a site. */
  nodes(site: Site): readonly RealNode[] {
    return this.#nodes.get(site.name) ?? [];
  }

  async prepare(site: Site): Promise<void> {
    const { bridge, address, cidr, ipv6 } = networkOf(site);
    const { podCidr, components } = site.layout;
    if (components !== "all") throw new NoControllersError({ site: site.name });
    this.#ranges.set(podCidr, (this.#ranges.get(podCidr) ?? new Set()).add(site.name));
    site.addResource({ kind: "link", id: bridge });
    await this.#ip(`make the bridge of ${site.name}`, [
      `link add ${bridge} type bridge`,
      `address add ${address}/${prefixLength(cidr)} dev ${bridge}`,
      // One that is tried out first cannot be listened on yet.
      ...(ipv6 ? [`address add ${ipv6.address}/${prefixLength(ipv6.cidr)} dev ${bridge} nodad`] : []),
      `link set dev ${bridge} up`,
    ]);
  }

  async start(site: Site, count: number, options: StartOptions): Promise<void> {
    const began = this.#clock.now();
    const nodes = await this.#plan(site, count);
    this.#nodes.set(site.name, nodes);
    const wait = new NodeWait(site, this.#clock, options);
    const client = new KubeClient(site.config);
    try {
      const objects = serviceObjects(this.#services(site), site.layout.dnsServiceAddress);
      if (this.#podNetwork === "kube-router") objects.push(...kubeRouterRights());
      for (const { kind, object } of objects) {
        await client.apply(kind, object, { fieldManager, force: true });
      }
      await allOrFirstFailure(nodes.map((node) => this.#startNode(node, client, wait)));
      await this.#addRoutes(site, nodes);
      for (const node of nodes) await wait.ready(node);
      if (nodes.length > 0) await wait.dnsAnswers(nodes, this.#options.tools.programs.busybox);
    } finally {
      await client.close();
    }
    this.#log.info("nodes ready", { site: site.name, nodes: count, seconds: (this.#clock.now() - began) / 1000 });
  }

  /** Makes an image and gives it to every node of a site: pods can then name it. */
  async loadImage(site: Site, request: ImageRequest, signal?: AbortSignal): Promise<void> {
    const image = await this.#images.make(request);
    await Promise.all(this.nodes(site).map((node) => node.loadImage(image, signal)));
  }

  get #podNetwork(): PodNetwork {
    return this.#options.podNetwork ?? "plain";
  }

  #kubelet(site: Site): Kubelet {
    return this.#options.kubelet ?? usualKubelet(site.layout.kubernetes);
  }

  #services(site: Site): NodeServices {
    return nodeServices(site.layout.kubernetes, this.#kubelet(site));
  }

  async #plan(site: Site, count: number): Promise<RealNode[]> {
    const network = networkOf(site);
    const { binaries, tools, fjordProgram, kubeletSettings = () => ({}) } = this.#options;
    const { kubernetes, directory } = site.layout;
    const plans = planNodes(site.layout, network, count);
    const [authority, snapshotter, mounts] = await Promise.all([
      Authority.load(siteFiles(site.layout).pki, "ca"),
      availableSnapshotter(directory),
      readFile("/proc/mounts", "utf8").then(cgroupMounts),
    ]);
    const shared = {
      site,
      network,
      plans,
      authority,
      tools,
      kubelet: this.#kubelet(site),
      kubeletSettings: kubeletSettings(site.name),
      services: this.#services(site),
      podNetwork: this.#podNetwork,
      ...(fjordProgram && { fjordProgram }),
      programs: {
        kubelet: binaries.path("kubelet", kubernetes),
        "kube-proxy": binaries.path("kube-proxy", kubernetes),
        ...(this.#podNetwork === "kube-router" && { "kube-router": binaries.path("kube-router") }),
      },
      snapshotter,
      now: this.#clock.now(),
    };
    return plans.map((plan) => {
      const cgroup = { mounts, path: `/${network.bridge}/${plan.name}` };
      for (const id of cgroupDirectories(cgroup)) site.addResource({ kind: "cgroup", id });
      // It goes with the node's namespace too, but the kernel takes its time over that.
      site.addResource({ kind: "link", id: plan.link });
      return new RealNode(plan, { ...shared, cgroup });
    });
  }

  async #startNode(node: RealNode, client: KubeClient, wait: NodeWait): Promise<void> {
    await node.prepare();
    await node.startNamespaces();
    await wait.namespaces(node);
    await node.process("containerd").start();
    await client.apply(Node, nodeObject(node.plan), { fieldManager, force: true });
    await wait.containerd(node, this.#options.tools.programs.ctr);
    // Before the kubelet, so that no pod meets a node without them.
    for (const image of await this.#images.standard()) await node.loadImage(image, wait.signal);
    for (const name of node.processes.slice(2)) {
      // It ends where the node has no address.
      if (name === "kube-router") await wait.registered(node);
      await node.process(name).start();
    }
  }

  /**
   * The host's way to the pods, which the API server takes to webhooks and aggregated APIs. Sites with equal ranges have
   * none: it would lead them to each other's pods.
   */
  async #addRoutes(site: Site, nodes: readonly RealNode[]): Promise<void> {
    if ((this.#ranges.get(site.layout.podCidr)?.size ?? 0) > 1) return;
    const { bridge } = networkOf(site);
    const routes = nodes.flatMap(({ plan: { podCidrs, addresses } }) =>
      podCidrs.map((range, i) => `route add ${range} via ${addresses[i]} dev ${bridge}`),
    );
    await this.#ip(`lead to the pods of ${site.name}`, routes).catch((error: unknown) =>
      this.#log.warn("the host cannot reach the pods of a site", { site: site.name, error: describeError(error) }),
    );
  }

  async #ip(what: string, commands: readonly string[]): Promise<void> {
    await runCommand(this.#options.tools.programs.ip, ["-batch", "-"], { what, input: `${commands.join("\n")}\n` });
  }
}

/** Waits for all of them even when one fails: none may go on starting processes while the others are cleaned up. */
async function allOrFirstFailure(tasks: readonly Promise<void>[]): Promise<void> {
  const settled = await Promise.allSettled(tasks);
  const failure = settled.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

function networkOf(site: Site): NodeNetwork {
  const network = site.layout.nodeNetwork;
  if (network === undefined) throw new NoNodeNetworkError({ site: site.name });
  return network;
}

/** Made before the kubelet registers, so that the range is the planned one and not the next that is free. */
function nodeObject(plan: NodePlan): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: plan.name },
    spec: { podCIDR: plan.podCidr, podCIDRs: [...plan.podCidrs] },
  };
}
