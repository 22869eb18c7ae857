import { fileURLToPath } from "node:url";
import { Offloading, Site as SiteKind } from "@fjord/api";
import { Deployment, KubeClient, Namespace } from "@fjord/kube";
import type { Bed } from "@fjord/testbed";
import { fjord, type SiteAgent, startSiteAgent } from "@fjord/testbed/agents";
import { startProcessNode, startTestBed } from "@fjord/testbed/testing";
import { ensurePage } from "./build.ts";

const pageFolder = fileURLToPath(new URL("../../../.fjord/page", import.meta.url));

/** A site of the continuum that the page's tests look at. */
export interface TestSite {
  readonly name: string;
  readonly tier: "cloud" | "edge" | "device";
  /** With a node that runs pods as processes. */
  readonly node: boolean;
}

export const SITES: readonly TestSite[] = [
  { name: "harbor", tier: "cloud", node: true },
  { name: "lively-wave", tier: "edge", node: true },
  { name: "frosty-wood", tier: "edge", node: false },
];

/** Sites on microkube, each peered with the first, which shows them on its page. */
export class PageContinuum implements AsyncDisposable {
  readonly bed: Bed;
  readonly agents: readonly SiteAgent[];
  readonly admin: KubeClient;

  constructor(bed: Bed, agents: readonly SiteAgent[]) {
    this.bed = bed;
    this.agents = agents;
    this.admin = new KubeClient(this.siteOf("harbor").config, { closeGraceMs: 500 });
  }

  static async start(sites: readonly TestSite[], flags: readonly string[]): Promise<PageContinuum> {
    const [bed, page] = await Promise.all([
      startTestBed({ sites: sites.length, components: "all", kubernetes: "microkube" }),
      ensurePage(pageFolder),
    ]);
    try {
      const agents = await Promise.all(
        bed.sites.map(async (site, index) => {
          const { name = "", tier, node } = sites[index] ?? {};
          if (node) await startProcessNode(site, { bed: bed.id, name: `${site.name}-node`, timeout: 120_000 });
          const own = index === 0 ? { page, flags: [`--tier=${tier}`, ...flags] } : { flags: [`--tier=${tier}`] };
          return startSiteAgent(site, { name, ...own });
        }),
      );
      return new PageContinuum(bed, agents);
    } catch (error) {
      await bed.stop();
      throw error;
    }
  }

  get url(): string {
    return this.agents[0]?.pageUrl ?? "";
  }

  siteOf(name: string) {
    const found = this.agents.find((agent) => agent.name === name) ?? this.agents[0];
    if (found === undefined) throw new Error(`there is no site ${name}`);
    return found.site;
  }

  /** A link that logs the administrator in once. */
  async link(): Promise<string> {
    return (await fjord(this.siteOf("harbor"), "dashboard", "--no-browser", `--url=${this.url}`)).trim();
  }

  /** A pairing token of `provider`, with the way that leads there from `consumer`. */
  async token(provider: string, consumer: string): Promise<string> {
    const [to, from] = [provider, consumer].map((name) => this.agents.find((agent) => agent.name === name));
    if (to === undefined || from === undefined) throw new Error("no such site");
    const { host, port } = await this.bed.path(from.site.name, to.site.name).expose(to.peerAddress);
    return (await fjord(to.site, "pair", "token", `--endpoint=https://${host}:${port}`)).trim();
  }

  async share(name: string, resources: Record<string, string>): Promise<void> {
    await using client = new KubeClient(this.siteOf(name).config, { closeGraceMs: 500 });
    await client.patch(SiteKind, { name }, "merge", { spec: { sharing: { resources } } });
  }

  async peer(consumer: string, provider: string, ...amounts: readonly string[]): Promise<void> {
    await fjord(this.siteOf(consumer), "peer", await this.token(provider, consumer), ...amounts);
  }

  /** A namespace that may extend to other sites. */
  async offloaded(name: string): Promise<void> {
    await this.admin.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const metadata = { name: "offloading", namespace: name };
    const spec = { whenUnreachable: { action: "Keep" } } as const;
    await this.admin.create(Offloading, {
      apiVersion: "fjord.dev/v1alpha1",
      kind: "Offloading",
      metadata,
      spec,
    } as unknown as Offloading);
  }

  async deploy(namespace: string, name: string, replicas: number, affinity: object = {}): Promise<void> {
    await this.admin.create(Deployment, deployment(namespace, name, replicas, affinity));
  }

  /** Lets nothing through between the first site and another, or everything again. */
  async reach(name: string, cut: boolean): Promise<void> {
    const [from, to] = [this.agents[0]?.site.name ?? "", this.siteOf(name).name];
    await (cut ? this.bed.network.cut(from, to) : this.bed.network.heal(from, to));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin.close();
    await this.bed.stop();
  }
}

const TALK = 'i=0; while :; do i=$((i+1)); echo "served request $i"; sleep 2; done';

function deployment(namespace: string, name: string, replicas: number, affinity: object): Deployment {
  const labels = { app: name };
  const resources = { requests: { cpu: "250m", memory: "128Mi" } };
  // Without a token nothing is mounted, and the bed's directory can be removed whatever became of the pods.
  const plain = { terminationGracePeriodSeconds: 1, automountServiceAccountToken: false };
  const container = { name, image: `registry.example/${name}:1.4`, command: ["/bin/sh", "-c", TALK], resources };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { ...plain, containers: [container], affinity } },
    },
  } as Deployment;
}
