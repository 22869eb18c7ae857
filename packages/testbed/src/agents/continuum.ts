import { Site as SiteKind } from "@fjord/api";
import { KubeClient } from "@fjord/kube";
import type { Bed } from "../bed.ts";
import type { Site } from "../site.ts";
import { fjord } from "./fjord-command.ts";
import { type SiteAgent, type SiteAgentOptions, startSiteAgent } from "./site-agent.ts";

/** What a site of a bed shares unless a test says otherwise: more than any test uses. */
export const PLENTY = { cpu: "1000", memory: "4000Gi", pods: "20000" } as const;

/** Sites of a bed with an agent each, able to reach each other only by the bed's paths. */
export class Continuum implements AsyncDisposable {
  readonly bed: Bed;
  readonly #agents = new Map<string, SiteAgent>();

  constructor(bed: Bed) {
    this.bed = bed;
  }

  /** Starts the agent of every site that has none. */
  async startAgents(
    options: Omit<SiteAgentOptions, "name"> = {},
    ofSite: (site: string) => Partial<SiteAgentOptions> = () => ({}),
  ): Promise<void> {
    const missing = this.bed.sites.filter(({ name }) => !this.#agents.has(name));
    const started = await Promise.all(
      missing.map((site) => startSiteAgent(site, { ...options, ...ofSite(site.name) })),
    );
    for (const agent of started) this.#agents.set(agent.site.name, agent);
  }

  site(name: string): Site {
    return this.bed.site(name);
  }

  agent(name: string): SiteAgent {
    const agent = this.#agents.get(name);
    if (agent === undefined) throw new Error(`${name} has no agent`);
    return agent;
  }

  /** A client of the administrator of a site. The caller closes it. */
  client(name: string): KubeClient {
    return new KubeClient(this.site(name).config, { closeGraceMs: 1_000 });
  }

  /** Where the agent of `to` is reached from `from`: through the bed's path, which may be cut. */
  async endpoint(from: string, to: string): Promise<string> {
    const { host, port } = await this.bed.path(from, to).expose(this.agent(to).peerAddress);
    return `https://${host}:${port}`;
  }

  /** Says in the own Site of a site what it shares. */
  async share(name: string, sharing: object = { resources: PLENTY }): Promise<void> {
    await using client = this.client(name);
    await client.patch(SiteKind, { name }, "merge", { spec: { sharing } });
  }

  /** A pairing token of `provider` for `consumer`, with the way that leads from there. */
  async token(provider: string, consumer: string): Promise<string> {
    const endpoint = await this.endpoint(consumer, provider);
    return (await fjord(this.site(provider), "pair", "token", `--endpoint=${endpoint}`)).trim();
  }

  /** Pairs and peers: afterwards the consumer has a virtual node named after the provider. */
  async peer(consumer: string, provider: string, ...flags: readonly string[]): Promise<void> {
    const amounts = flags.length > 0 ? flags : Object.entries(PLENTY).map(([name, amount]) => `--${name}=${amount}`);
    const token = await this.token(provider, consumer);
    await fjord(this.site(consumer), "peer", token, ...amounts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bed.stop();
  }
}
