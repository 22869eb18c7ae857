import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AddressPlan } from "@fjord/api";
import { calledHere } from "@fjord/continuum/network-path";
import { AcceptanceBed, eventually } from "../acceptance/acceptance-bed.ts";
import { startGateway } from "../acceptance/linked-nodes.ts";
import { namespace, pod } from "../acceptance/workloads.ts";
import { fjord } from "../agents/index.ts";
import { application } from "../demo/application.ts";
import { shopImage } from "../demo/kubernetes/shop-image.ts";
import { NetworkNamespaces } from "../namespaces/index.ts";
import type { RealNode } from "../nodes/node.ts";
import type { IpFamilies } from "../site-layout.ts";
import { testNodes } from "../testing.ts";
import { Crossroads, isHidden, isLed, nodeAddress, type Place } from "./crossroads.ts";
import type { Ranges, Topology } from "./matrix-cell.ts";
import { metBy, type SeenLink } from "./way.ts";

export const HOME = "site-1";
export const AWAY = "site-2";
const HUB = "site-3";
const SITES = [HOME, AWAY, HUB] as const;
export const PORT = 8080;
/** Served by the host, and not exported. */
export const CLOSED_PORT = 8081;

const SERVER = [
  "sh",
  "-c",
  `mkdir -p /www/cgi-bin
printf '#!/bin/sh\\necho; hostname\\n' > /www/cgi-bin/who
chmod +x /www/cgi-bin/who
exec httpd -f -p ${PORT} -h /www`,
];

/** Says who it is, to whoever asks. */
const HOST = `for (const port of [${PORT}, ${CLOSED_PORT}])
  require("node:http").createServer((_, response) => response.end("host\\n")).listen(port, "::");`;

/** Two sites that share a namespace, a third that both have links with, and a host beside the second. */
export class MatrixBed implements AsyncDisposable {
  readonly families: IpFamilies;
  readonly bed: AcceptanceBed;
  readonly #namespaces = new NetworkNamespaces();
  readonly #nodes: readonly RealNode[];
  readonly #crossroads: Crossroads;

  private constructor(bed: AcceptanceBed, nodes: readonly RealNode[], families: IpFamilies) {
    this.bed = bed;
    this.families = families;
    this.#nodes = nodes;
    this.#crossroads = new Crossroads(this.#namespaces, nodes);
  }

  static async start(ranges: Ranges, families: IpFamilies): Promise<MatrixBed> {
    const provider = testNodes({ podNetwork: "kube-router" });
    const options = { sites: 3, overlap: ranges === "overlap", families, timeout: 300_000 };
    const bed = await AcceptanceBed.start({ ...options, nodes: { count: 1, provider } });
    const nodes = SITES.map((name) => provider.nodes(bed.site(name))[0] as RealNode);
    const matrix = new MatrixBed(bed, nodes, families);
    try {
      for (const name of [HOME, AWAY]) await provider.loadImage(bed.site(name), shopImage());
      await matrix.#prepare();
      return matrix;
    } catch (error) {
      await matrix[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #prepare(): Promise<void> {
    const { bed } = this;
    await bed.kubectl(AWAY, "patch", "site", AWAY, "--type=merge", '--patch={"spec":{"tier":"edge"}}');
    await this.arrange("direct");
    for (const name of [HOME, AWAY]) await bed.peer(name, HUB, "--cpu=1", "--memory=1Gi", "--pods=2", "--link");
    await bed.peer(HOME, AWAY, "--cpu=2", "--memory=2Gi", "--pods=30", "--link");
    await bed.apply(HOME, namespace("shop"), namespace("other"));
    await fjord(bed.site(HOME), "offload", "shop", `--selector=kubernetes.io/hostname=${AWAY}`, "--pods=Both");
    const here = `${HOME}-node-1`;
    // What the demo deploys, as it is: its front end goes to the other site, as to an edge, and all else stays here.
    const shop = application(1);
    const at = (name: string, nodeName: string, space = "shop") =>
      pod(name, { namespace: space, nodeName, command: SERVER });
    await bed.apply(
      HOME,
      ...policies(),
      ...["data", "web"].flatMap((name) => [service(name, {}), service(`${name}-each`, { clusterIP: "None" }, name)]),
      ...["web", "noise", "mute"].map((name) => at(name, here)),
      ...["data", "din"].map((name) => at(name, AWAY)),
      at("stranger", here, "other"),
      ...shop.services,
      ...shop.deployments,
    );
    await this.#startHost();
    await this.#export();
    for (const [index, name] of SITES.entries())
      await startGateway(bed.site(name), this.#nodes[index] as RealNode, "gateway");
    for (const [space, ...names] of [
      ["shop", "web", "noise", "mute", "data", "din"],
      ["other", "stranger"],
    ] as const)
      for (const name of names)
        await bed.kubectl(HOME, `-n=${space}`, "wait", "--for=condition=Ready", `pod/${name}`, "--timeout=200s");
    for (const name of ["api", "worker", "front"]) await bed.rolledOut(HOME, "shop", `deployment/${name}`);
  }

  /** Puts something else between the gateways, and tells sites where they are found. */
  async arrange(topology: Topology): Promise<void> {
    await this.#crossroads.arrange(topology);
    // The hub knows the names of others once they are paired.
    const relays = isLed(topology) ? [{ between: [HOME, AWAY] }] : [];
    for (const [index, name] of SITES.entries()) {
      const place = (index + 1) as Place;
      const isIpv6 = this.families === "ipv6";
      const address = nodeAddress(place, isIpv6);
      const endpoints = isHidden(topology, place) ? [] : [`${isIpv6 ? `[${address}]` : address}:51820`];
      const { podCidrs: podRanges, nodeNetwork: ofNodes } = this.bed.site(name).layout;
      const machines = [ofNodes?.cidr, ofNodes?.ipv6?.cidr].filter((range) => range !== undefined);
      const network = { podRanges, endpoints, machines, ...(name === HUB && { relays }) };
      const patch = JSON.stringify({ spec: { network } });
      await this.bed.kubectl(name, "patch", "site", name, "--type=merge", `--patch=${patch}`);
    }
  }

  /** How the two meet now, by what both of them say. */
  async way(): Promise<string> {
    const [home, away] = await Promise.all([this.#linkOf(HOME, AWAY), this.#linkOf(AWAY, HOME)]);
    return metBy(home.status, away.status);
  }

  async #linkOf(name: string, peer: string): Promise<LinkJson> {
    const id = await this.bed.kubectl(peer, "get", "site", peer, "--output=jsonpath={.status.id}");
    return await this.bed.get<LinkJson>(name, "link", id);
  }

  /** Of a site's node, where this machine reaches it. */
  nodeAddress(name: string): string {
    return this.#nodes[SITES.findIndex((each) => each === name)]?.plan.addresses[0] ?? "";
  }

  /** A pod's addresses, as its home calls them. */
  async addressesOf(name: string): Promise<string[]> {
    const { status } = await this.bed.get<PodJson>(HOME, "pod", name, "-n=shop");
    return status.podIPs.map(({ ip }) => ip);
  }

  /** What the provider calls an address of the home's. */
  async calledAway(address: string): Promise<string> {
    const id = await this.bed.kubectl(HOME, "get", "site", HOME, "--output=jsonpath={.status.id}");
    const { spec } = await this.bed.get<AddressPlan>(AWAY, "addressplan", id);
    const found = calledHere(spec, address);
    if (found === undefined) throw new Error(`${AWAY} has no name for ${address}`);
    return found;
  }

  /** Who answers a pod of the namespace; throws where nobody does. */
  async ask(from: string, host: string, port = PORT, space = "shop"): Promise<string> {
    return await this.fetch(from, `http://${host.includes(":") ? `[${host}]` : host}:${port}/cgi-bin/who`, space);
  }

  /** What a pod of the namespace gets; throws where nobody answers. */
  async fetch(from: string, url: string, space = "shop"): Promise<string> {
    const command = ["timeout", "4", "wget", "-q", "-O", "-", url];
    return (await this.bed.kubectl(HOME, `-n=${space}`, "exec", from, "--", ...command)).trim();
  }

  /** What somebody from elsewhere gets of the home's node: the router before it stands for him. */
  async visit(url: string): Promise<string> {
    return await this.#crossroads.visit(1, url, this.nodeAddress(HOME));
  }

  /** Addresses that a name has for a pod. */
  async resolve(from: string, name: string): Promise<string[]> {
    const script = `nslookup ${name}.$(sed -n "s/^search \\([^ ]*\\).*/\\1/p" /etc/resolv.conf)`;
    const text = await this.bed.kubectl(HOME, "-n=shop", "exec", from, "--", "sh", "-c", script);
    return [...text.matchAll(/^Address(?: \d+)?: *([0-9a-f.:]+)$/gm)]
      .map(([, address = ""]) => address)
      .filter((address) => !address.endsWith(":53"))
      .sort();
  }

  /** What stands for the host here. */
  async importedAddresses(): Promise<string[]> {
    return await eventually("the host is imported", async () => {
      const { status } = await this.bed.get<{ status?: { addresses?: string[] } }>(HOME, "import", "host", "-n=shop");
      return (status?.addresses?.length ?? 0) > 0 && status?.addresses;
    });
  }

  /** Beside the provider's node, which alone reaches it. */
  async #startHost(): Promise<void> {
    const node = this.#nodes[1] as RealNode;
    const pid = (await readFile(join(node.directory, "pid"), "utf8")).trim();
    const name = "host";
    await this.#namespaces.add(name);
    await this.#namespaces.ip(name, "link", "add", "eth0", "type", "veth", "peer", "name", "host0", "netns", pid);
    await this.#namespaces.ip(name, "link", "set", "dev", "eth0", "up");
    await node.run(["ip", "link", "set", "dev", "host0", "up"], "reach the host");
    for (const [prefix, length] of [
      ["192.0.2.", 24],
      ["2001:db8:aa::", 64],
    ] as const) {
      await this.#namespaces.ip(name, "address", "add", `${prefix}20/${length}`, "dev", "eth0");
      await node.run(["ip", "address", "add", `${prefix}1/${length}`, "dev", "host0"], "reach the host");
    }
    this.#namespaces.spawn(name, process.execPath, "-e", HOST);
  }

  async #export(): Promise<void> {
    const apiVersion = "fjord.dev/v1alpha1";
    const address = this.families === "ipv6" ? "2001:db8:aa::20" : "192.0.2.20";
    await this.bed.apply(AWAY, {
      apiVersion,
      kind: "Export",
      metadata: { name: "host" },
      spec: { sites: [HOME], host: { address, ports: [{ port: PORT }] } },
    });
    await this.bed.apply(HOME, {
      apiVersion,
      kind: "Import",
      metadata: { name: "host", namespace: "shop" },
      spec: { site: AWAY, export: "host" },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bed[Symbol.asyncDispose]();
    await this.#namespaces[Symbol.asyncDispose]();
  }
}

/** The one lets `web` ask `data`, and the other the reverse; both are enforced where the one that is asked runs. */
function policies(): object[] {
  const from = (app: string) => ({ ingress: [{ from: [{ podSelector: { matchLabels: { app } } }] }] });
  const about = (app: string, spec: object) => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: app, namespace: "shop" },
    spec: { podSelector: { matchLabels: { app } }, ...spec },
  });
  return [
    about("data", from("web")),
    about("web", from("data")),
    about("mute", { policyTypes: ["Egress"], egress: [] }),
  ];
}

function service(name: string, spec: object, app = name): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "shop" },
    spec: { selector: { app }, ports: [{ port: PORT }], ipFamilyPolicy: "PreferDualStack", ...spec },
  };
}

interface PodJson {
  readonly status: { readonly podIPs: readonly { readonly ip: string }[] };
}

interface LinkJson {
  readonly status?: SeenLink;
}
