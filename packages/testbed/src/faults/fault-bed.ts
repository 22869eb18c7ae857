import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AcceptanceBed, eventually } from "../acceptance/acceptance-bed.ts";
import { clockFile, joinWire, linkProcess, networkOf, startGateway } from "../acceptance/linked-nodes.ts";
import { deployment, namespace, pod } from "../acceptance/workloads.ts";
import { fjord } from "../agents/index.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { NetworkNamespaces } from "../namespaces/index.ts";
import { makeWire } from "../namespaces/site-network.ts";
import type { RealNode } from "../nodes/node.ts";
import type { RealNodes } from "../nodes/real-nodes.ts";
import type { Site } from "../site.ts";
import { siteFiles } from "../site-layout.ts";
import { testNodes } from "../testing.ts";
import { Flows } from "./flows.ts";
import { podNamespace, StreamPod } from "./stream-pod.ts";

export const HOME = "site-1";
export const AWAY = "site-2";
export const PORT = 8080;
const PATH = "/cgi-bin/who";
/** Says who answers. */
const SERVER = [
  "sh",
  "-c",
  `mkdir -p /www/cgi-bin
printf '#!/bin/sh\\necho; echo "$(hostname)"\\n' > /www${PATH}
chmod +x /www${PATH}
exec httpd -f -p ${PORT} -h /www`,
];

/** A pod by the name that it has everywhere, the site that it runs at, and its address there. */
export interface Member {
  readonly name: string;
  readonly site: string;
  readonly node: string;
  readonly address: string;
}

/** Two sites of two real nodes each with the same ranges, joined by a link, whose gateways may be on either node. */
export class FaultBed implements AsyncDisposable {
  readonly namespaces = new NetworkNamespaces();
  readonly empty = new Map<string, string[]>();
  /** Addresses on the wire, by node. */
  readonly wire = new Map<string, string>();
  readonly #provider: RealNodes;
  readonly bed: AcceptanceBed;
  readonly #watched = new Set<string>();
  readonly #streams = new Map<string, StreamPod>();

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
    for (const name of [HOME, AWAY]) await this.#putStranger(name);
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
    await bed.apply(HOME, deployment("web", { namespace: "shop", replicas: 3, spread: true, command: SERVER }), {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "shop" },
      spec: SERVICE,
    });
    await bed.rolledOut(HOME, "shop", "deployment/web");
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

  async gatewayOf(name: string): Promise<RealNode> {
    const node = await this.bed.kubectl(name, "get", "site", name, "--output=jsonpath={.status.gateway.node}");
    return this.node(node);
  }

  otherNode(node: RealNode): RealNode {
    return this.nodesOf(this.siteOf(node).name).find((each) => each !== node) as RealNode;
  }

  async members(): Promise<Member[]> {
    const { bed } = this;
    const { items } = await bed.get<{ items: PodJson[] }>(HOME, "pods", "-n=shop", "--selector=app=web");
    const twin = await bed.twin(HOME, "shop");
    const guests = await bed.get<{ items: PodJson[] }>(AWAY, "pods", `-n=${twin}`, "--selector=app=web");
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata, spec, status }) => {
        const guest = guests.items.find((each) => each.metadata.name === metadata.name);
        const of = guest ?? { spec, status };
        return {
          name: metadata.name,
          site: guest === undefined ? HOME : AWAY,
          node: of.spec.nodeName,
          address: of.status.podIP,
        };
      });
  }

  /** What a site calls a pod's address. Ranges are of 16 bits. */
  async called(at: string, { site, address }: Member): Promise<string> {
    if (at === site) return address;
    const [{ called = "" } = {}] = (await this.planOf(at)).spec.peer;
    return [...called.split(".").slice(0, 2), ...address.split(".").slice(2)].join(".");
  }

  /** Flows between the pod that is away and one at home, which is not on the node that carries the links. */
  async flows(): Promise<Flows> {
    const members = await eventually("three pods have addresses", async () => {
      const found = await this.members();
      const isWhole = found.length === 3 && found.every(({ address }) => address !== undefined);
      return isWhole && found.filter(({ site }) => site === AWAY).length === 1 && found;
    });
    const away = members.find(({ site }) => site === AWAY) as Member;
    const carrying = await this.gatewayOf(HOME);
    const home = members.find(({ site, node }) => site === HOME && node !== carrying.name) as Member;
    const twin = await this.bed.twin(HOME, "shop");
    const [here, there] = await Promise.all([this.#serviceAddress(HOME, "shop"), this.#serviceAddress(AWAY, twin)]);
    const end = async (at: string, own: Member, other: Member, service: string) => ({
      pod: await this.stream(own),
      other: await this.called(at, other),
      service: { host: service, port: PORT, path: PATH },
      endpoints: await Promise.all(
        members
          .filter((each) => each !== own)
          .map(async (each) => ({
            name: each.name,
            node: each.node,
            host: await this.called(at, each),
            port: PORT,
            path: PATH,
          })),
      ),
    });
    const flows = new Flows(await end(HOME, home, away, here), await end(AWAY, away, home, there));
    flows.begin();
    return flows;
  }

  async stream({ node, address }: Member): Promise<StreamPod> {
    const key = `${node} ${address}`;
    const known = this.#streams.get(key);
    if (known?.isAlive) return known;
    const stream = await StreamPod.start(this.node(node), address);
    this.#streams.set(key, stream);
    return stream;
  }

  #serviceAddress(site: string, space: string): Promise<string> {
    return this.bed.kubectl(site, `-n=${space}`, "get", "service", "web", "--output=jsonpath={.spec.clusterIP}");
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

  /** What a site's API knows, as it is at this moment. */
  async snapshot(name: string): Promise<string> {
    const site = this.bed.site(name);
    const { etcdData } = siteFiles(site.layout);
    const copy = `${etcdData}-${Date.now()}`;
    const etcd = site.process("etcd");
    // As a power cut would leave it.
    await etcd.pause();
    await cp(etcdData, copy, { recursive: true });
    await etcd.resume();
    return copy;
  }

  /**
   * Puts a site's API back to what it was. Its agents, gateways and containers go on. What of Kubernetes watches it is started anew, as its documentation asks for: it would
   * wait for revisions that come later, and miss all until then.
   */
  async restore(name: string, copy: string): Promise<void> {
    const site = this.bed.site(name);
    const { etcdData } = siteFiles(site.layout);
    const parts = ["kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"];
    for (const part of parts) await site.process(part).kill();
    await rm(etcdData, { recursive: true, force: true });
    await cp(copy, etcdData, { recursive: true });
    await site.start({ timeout: 120_000 });
    for (const node of this.nodesOf(name))
      for (const part of node.processes.filter((each) => each.startsWith("kube"))) {
        await node.process(part).kill();
        await node.process(part).start();
      }
  }

  /** What gateways and agents have said so far, into files of a folder. */
  async writeLogs(directory: string): Promise<void> {
    await mkdir(directory, { recursive: true });
    for (const node of this.allNodes())
      await writeFile(join(directory, `${node.name}.log`), this.gatewayProcess(node).logTail(5_000));
    for (const name of [HOME, AWAY])
      await writeFile(join(directory, `${name}.log`), this.bed.agent(name).process.logTail(5_000));
  }

  async #putStranger(name: string): Promise<void> {
    await this.bed.apply(name, pod("stranger", { namespace: "other", command: SERVER }));
    await this.bed.kubectl(name, "-n=other", "wait", "--for=condition=Ready", "pod/stranger", "--timeout=150s");
  }

  /** One that has ended with its node is there anew. */
  async #stranger(name: string): Promise<PodJson> {
    const find = () => this.bed.get<PodJson>(name, "-n=other", "pod", "stranger");
    const found = await find();
    if (found.status.podIP !== undefined) return found;
    await this.bed.kubectl(name, "-n=other", "delete", "pod", "stranger");
    await this.#putStranger(name);
    return await find();
  }

  /** How many packets strangers have been sent that share nothing with the other site. */
  async strangersHear(): Promise<number> {
    let heard = 0;
    for (const name of [HOME, AWAY]) {
      const { spec, status } = await this.#stranger(name);
      const node = this.node(spec.nodeName);
      const network = await podNamespace(node, status.podIP);
      const inside = ["nsenter", `--net=${network}`, "nft"];
      if (!this.#watched.has(network)) {
        const hook = "type filter hook input priority -400;";
        const rule = "add rule inet witness in ct direction original counter";
        const witness = `add table inet witness; add chain inet witness in { ${hook} }; ${rule}`;
        await node.run([...inside, witness], "watch a stranger");
        this.#watched.add(network);
      }
      const text = await node.run([...inside, "list", "table", "inet", "witness"], "look at a stranger");
      heard += Number(/packets (\d+)/.exec(text)?.[1]);
    }
    return heard;
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

  /** Until the Deployment has its three pods, one of them away, and both sites agree on names. */
  async settled(): Promise<void> {
    await eventually(
      "all pods run, and both sites agree",
      async () => {
        const members = await this.members();
        const isWhole = members.length === 3 && members.filter(({ site }) => site === AWAY).length === 1;
        if (!isWhole || members.some(({ address }) => address === undefined))
          throw new Error(`pods are ${JSON.stringify(members)}${await this.#failedPods()}`);
        const ready = await this.bed.kubectl(HOME, "-n=shop", "get", "deployment", "web", `--output=jsonpath=${READY}`);
        if (ready !== "3") throw new Error(`${ready} pods are ready`);
        const plans = await Promise.all([HOME, AWAY].map((name) => this.planOf(name)));
        const [one, other] = plans as [PlanJson, PlanJson];
        if (!agree(one, other) || !agree(other, one)) throw new Error(`plans are ${JSON.stringify(plans)}`);
        return true;
      },
      240_000,
    );
  }

  /** What is said of pods that have failed, at home and elsewhere. */
  async #failedPods(): Promise<string> {
    const failed = [
      "--field-selector=status.phase=Failed",
      "--output=jsonpath={range .items[*]}{.metadata}{.status}{end}",
    ];
    const told = [HOME, AWAY].map((name) => this.bed.kubectl(name, "get", "pods", "--all-namespaces", ...failed));
    const [home, away] = await Promise.all(told);
    return home === "" && away === "" ? "" : `; failed at home: ${home}; elsewhere: ${away}`;
  }

  async planOf(name: string): Promise<PlanJson> {
    const { items } = await this.bed.get<{ items: PlanJson[] }>(name, "addressplans");
    if (items.length !== 1) throw new Error(`${name} has ${items.length} plans`);
    return items[0] as PlanJson;
  }

  /** Every pod that is reached by a name is the one that has it. */
  async everyoneIsMeant(): Promise<void> {
    const members = await this.members();
    for (const from of members)
      for (const to of members) {
        if (from === to) continue;
        const url = `http://${await this.called(from.site, to)}:${PORT}${PATH}`;
        const ask = ["timeout", "5", "wget", "-q", "-O", "-", url];
        const heard = await eventually(`${to.name} answers ${from.name}`, () =>
          this.bed.kubectl(HOME, "-n=shop", "exec", from.name, "--", ...ask),
        );
        if (heard.trim() !== to.name) throw new Error(`${url} is ${heard.trim()}, and not ${to.name}`);
      }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of this.#streams.values()) stream[Symbol.dispose]();
    await this.bed[Symbol.asyncDispose]();
    await this.namespaces[Symbol.asyncDispose]();
  }
}

const SERVICE = { selector: { app: "web" }, ports: [{ port: PORT }] };

const READY = "{.status.readyReplicas}";

interface LinkJson {
  readonly spec: { readonly publicKey: string };
  readonly status?: { readonly ownKey?: string };
}

interface PlanJson {
  readonly spec: {
    readonly own: readonly { readonly range: string; readonly called?: string }[];
    readonly peer: readonly { readonly range: string; readonly called?: string }[];
  };
}

/** Whether what one calls the other's ranges is what that believes to be called. */
function agree({ spec: { own } }: PlanJson, { spec: { peer } }: PlanJson): boolean {
  return own.every(
    ({ range, called }) => called !== undefined && peer.some((each) => each.range === range && each.called === called),
  );
}

interface PodJson {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly podIP: string };
}
