import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AcceptanceBed, eventually } from "../acceptance/acceptance-bed.ts";
import { clockFile, joinWire, linkProcess, networkOf, startGateway } from "../acceptance/linked-nodes.ts";
import { namespace } from "../acceptance/workloads.ts";
import { fjord } from "../agents/index.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { NetworkNamespaces } from "../namespaces/index.ts";
import { makeWire } from "../namespaces/site-network.ts";
import type { RealNode } from "../nodes/node.ts";
import type { RealNodes } from "../nodes/real-nodes.ts";
import type { Site } from "../site.ts";
import { testNodes } from "../testing.ts";
import { AWAY, HOME } from "./sides.ts";
import { Strangers } from "./strangers.ts";
import { WebPods } from "./web-pods.ts";

/** Two sites of two real nodes each with the same ranges, joined by a link, whose gateways may be on either node. */
export class FaultBed implements AsyncDisposable {
  readonly namespaces = new NetworkNamespaces();
  readonly empty = new Map<string, string[]>();
  /** Addresses on the wire, by node. */
  readonly wire = new Map<string, string>();
  readonly #provider: RealNodes;
  readonly bed: AcceptanceBed;
  readonly web = new WebPods(this);
  readonly strangers = new Strangers(this);

  private constructor(bed: AcceptanceBed, provider: RealNodes) {
    this.bed = bed;
    this.#provider = provider;
  }

  /** `before` is called when the sites are peered, and there is no link yet. Several lanes are shared by the nodes of each site. */
  static async start(before: (bed: FaultBed) => Promise<void> = async () => {}, lanes = 1): Promise<FaultBed> {
    const provider = testNodes();
    const bed = new FaultBed(
      await AcceptanceBed.start({ sites: 2, overlap: true, nodes: { count: 2, provider } }),
      provider,
    );
    try {
      await bed.#join(before, lanes);
      return bed;
    } catch (error) {
      await bed[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #join(before: (bed: FaultBed) => Promise<void>, lanes: number): Promise<void> {
    const { bed, namespaces } = this;
    await makeWire(namespaces);
    for (const [index, node] of this.allNodes().entries()) {
      this.wire.set(node.name, `192.0.2.${index + 1}`);
      await joinWire(namespaces, node, this.wireAddress(node));
      this.empty.set(node.name, await networkOf(node));
    }
    await bed.peer(HOME, AWAY, "--cpu=2", "--memory=2Gi", "--pods=30");
    await bed.apply(HOME, namespace("shop"), namespace("other"));
    await bed.apply(AWAY, namespace("other"));
    for (const name of [HOME, AWAY]) await this.strangers.put(name);
    for (const node of this.allNodes()) await this.startGateway(node);
    for (const name of [HOME, AWAY]) {
      const endpoints = this.nodesOf(name).map((node) => `${this.wireAddress(node)}:51820`);
      const network = { podRanges: [bed.site(name).layout.podCidr], endpoints, lanes };
      await bed.kubectl(
        name,
        "patch",
        "site",
        name,
        "--type=merge",
        `--patch=${JSON.stringify({ spec: { network } })}`,
      );
    }
    await before(this);
    await bed.kubectl(HOME, "patch", "peering", AWAY, "--type=merge", '--patch={"spec":{"link":true}}');
    await fjord(bed.site(HOME), "offload", "shop", "--pods=Both");
    await this.web.deploy();
  }

  async startGateway(node: RealNode): Promise<ManagedProcess> {
    const flags = [`--endpoint=${this.wireAddress(node)}:51820`];
    return await startGateway(this.siteOf(node), node, "gateway", ...flags);
  }

  nodesOf(name: string): readonly [RealNode, RealNode] {
    return this.#provider.nodes(this.bed.site(name)) as readonly [RealNode, RealNode];
  }

  allNodes(): RealNode[] {
    return [...this.nodesOf(HOME), ...this.nodesOf(AWAY)];
  }

  siteOf(node: RealNode): Site {
    return this.bed.site(node.name.startsWith(HOME) ? HOME : AWAY);
  }

  node(name: string): RealNode {
    const found = this.allNodes().find((each) => each.name === name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  }

  wireAddress(node: RealNode): string {
    return this.wire.get(node.name) ?? "";
  }

  gatewayProcess(node: RealNode): ManagedProcess {
    return this.siteOf(node).process(linkProcess(node));
  }

  /** The node that carries a site's links, once one does. */
  gatewayOf(name: string): Promise<RealNode> {
    return eventually(`a node of ${name} carries its links`, async () => {
      const node = await this.bed.kubectl(name, "get", "site", name, "--output=jsonpath={.status.gateway.node}");
      return node !== "" && this.node(node);
    });
  }

  otherNode(node: RealNode): RealNode {
    return this.nodesOf(this.siteOf(node).name).find((each) => each !== node) as RealNode;
  }

  /** Joins or cuts the wire of a node, on which gateways meet; nothing else of it. */
  async setWire(node: RealNode, state: "up" | "down"): Promise<void> {
    const port = `port${this.wireAddress(node).split(".").at(-1)}`;
    await this.namespaces.ip("wan", "link", "set", "dev", port, state);
  }

  /** Joins or cuts all ways by which WireGuard of a node may meet others, also that by the agents; nothing else of it. */
  async setLink(node: RealNode, state: "up" | "down"): Promise<void> {
    const ports = "51820-51829";
    const chain = (hook: string, port: string) =>
      `chain ${hook} { type filter hook ${hook} priority 0; ${port} drop; }`;
    const cut = `table inet cut { ${chain("input", `udp dport ${ports}`)}\n${chain("output", `udp sport ${ports}`)}\n}`;
    await node.run(["nft", state === "down" ? cut : "delete table inet cut"], "cut the link");
  }

  /** What gateways and agents have said so far, into files of a folder. */
  async writeLogs(directory: string): Promise<void> {
    await mkdir(directory, { recursive: true });
    for (const node of this.allNodes())
      await writeFile(join(directory, `${node.name}.log`), this.gatewayProcess(node).logTail(5_000));
    for (const name of [HOME, AWAY])
      await writeFile(join(directory, `${name}.log`), this.bed.agent(name).process.logTail(5_000));
  }

  /** The clock of a gateway's process is off by so much from now on. */
  async jumpClock(node: RealNode, ms: number): Promise<void> {
    await writeFile(clockFile(node), String(ms));
  }

  /** The keys of a site's one link: what its gateway uses, what it should, and what the peer's is said to be. */
  async keysOf(name: string): Promise<{ own: string; wanted: string; peer: string }> {
    const { items } = await this.bed.get<{ items: LinkJson[] }>(name, "links");
    const secret = await this.bed.get<{ data: Record<string, string> }>(
      name,
      "-n=fjord-system",
      "secret",
      "fjord-link",
    );
    const key = Buffer.from(secret.data.publicKey ?? "", "base64").toString();
    return { own: items[0]?.status?.ownKey ?? "", wanted: key, peer: items[0]?.spec.publicKey ?? "" };
  }

  async planOf(name: string): Promise<PlanJson> {
    const { items } = await this.bed.get<{ items: PlanJson[] }>(name, "addressplans");
    if (items.length !== 1) throw new Error(`${name} has ${items.length} plans`);
    return items[0] as PlanJson;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.web[Symbol.dispose]();
    await this.bed[Symbol.asyncDispose]();
    await this.namespaces[Symbol.asyncDispose]();
  }
}

interface LinkJson {
  readonly spec: { readonly publicKey: string };
  readonly status?: { readonly ownKey?: string };
}

export interface PlanJson {
  readonly spec: {
    readonly own: readonly { readonly range: string; readonly called?: string }[];
    readonly peer: readonly { readonly range: string; readonly called?: string }[];
  };
}
