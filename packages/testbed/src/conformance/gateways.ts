import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Link } from "@fjord/api";
import { systemClock } from "@fjord/base";
import { getCondition, KubeClient } from "@fjord/kube";
import { joinWire, startGateway, startGatewayIn, writeLinkKubeconfig } from "../acceptance/linked-nodes.ts";
import type { Bed } from "../bed.ts";
import { NotReadyError } from "../errors.ts";
import { NetworkNamespaces } from "../namespaces/index.ts";
import { makeWire } from "../namespaces/site-network.ts";
import type { RealNodes } from "../nodes/real-nodes.ts";
import type { Site } from "../site.ts";
import { waitFor } from "../wait.ts";

/** The machine that carries the links of a site without nodes. */
const MACHINE = "home";
const PORT = 51820;

/** Gateways of the sites of a border, on a wire of their own. */
export class Gateways implements AsyncDisposable {
  readonly #bed: Bed;
  readonly #nodes: RealNodes;
  readonly #namespaces = new NetworkNamespaces();

  constructor(bed: Bed, nodes: RealNodes) {
    this.#bed = bed;
    this.#nodes = nodes;
  }

  /** Where they meet, by site. */
  get endpoints(): Map<string, string> {
    return new Map(this.#bed.sites.map((site) => [site.name, `${wireAddress(site)}:${PORT}`]));
  }

  /** Of a site without nodes: its control plane, which is this machine, reaches pods by names that are no other bed's. */
  networkOf(site: Site): { machines: string[]; names: string[] } {
    return { machines: [`${networkOf(site).address}/32`], names: [namesOf(site)] };
  }

  /** Joins the first node of each site to the wire, and a machine for a site that has none. */
  async join(): Promise<void> {
    await makeWire(this.#namespaces);
    for (const site of this.#bed.sites) {
      const [node] = this.#nodes.nodes(site);
      if (node === undefined) await this.#addMachine(site);
      else await joinWire(this.#namespaces, node, wireAddress(site));
      // A machine in the world has a default route, and so one to these: without any, nothing on it could be led elsewhere.
      for (const each of this.#nodes.nodes(site))
        await each.run(["ip", "route", "add", "240.0.0.0/4", "dev", "eth0"], "add a route");
    }
  }

  /** On every node: one carries the links, and all lead there. */
  async start(): Promise<void> {
    for (const site of this.#bed.sites) {
      const nodes = this.#nodes.nodes(site);
      if (nodes.length === 0) {
        const kubeconfig = join(site.layout.directory, "gateway.kubeconfig");
        await writeLinkKubeconfig(site, "gateway", kubeconfig);
        await startGatewayIn(site, this.#namespaces.prefix(MACHINE), { name: `link-gateway-${MACHINE}`, kubeconfig });
      }
      for (const [index, node] of nodes.entries()) {
        const flags = index === 0 ? [`--endpoint=${wireAddress(site)}:${PORT}`] : [];
        await startGateway(site, node, index === 0 ? "gateway" : "node", ...flags);
      }
    }
  }

  /** Returns when each site has seen each of its peers. */
  async up(): Promise<void> {
    for (const site of this.#bed.sites) {
      await using client = new KubeClient(site.config, { closeGraceMs: 1_000 });
      let last = "no Link";
      const isUp = async () => {
        const { items } = await client.list(Link);
        const reasons = items.map(({ status }) => getCondition(status?.conditions, "Ready")?.reason);
        last = reasons.join(", ") || "no Link";
        return items.length > 0 && reasons.every((reason) => reason === "HandshakeSeen");
      };
      if (!(await waitFor(isUp, { clock: systemClock, timeout: 60_000, interval: 200 })))
        throw new NotReadyError({ site: site.name, what: "its links to be up", seconds: 60, last });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#namespaces[Symbol.asyncDispose]();
  }

  /** On its site's bridge, as nodes are, and so reached by the control plane. */
  async #addMachine(site: Site): Promise<void> {
    const { bridge, cidr } = networkOf(site);
    const address = cidr.replace(/\.0\/24$/, ".9");
    await this.#namespaces.add(MACHINE);
    await this.#namespaces.cable(MACHINE, "wan0", "wan", MACHINE);
    await this.#namespaces.ip("wan", "link", "set", "dev", MACHINE, "master", "wire");
    await this.#namespaces.ip(MACHINE, "address", "add", `${wireAddress(site)}/24`, "dev", "wan0");
    await this.#namespaces.plug(MACHINE, "eth0", bridge, `${bridge}-gw`);
    await this.#namespaces.ip(MACHINE, "address", "add", `${address}/24`, "dev", "eth0");
    await promisify(execFile)("ip", ["route", "add", namesOf(site), "via", address, "dev", bridge]);
  }
}

const wireAddress = ({ layout }: Site) => `192.0.2.${layout.index}`;

/** Room for two ranges of pods and what else two sites have. The bridge's number is no other bed's. */
function namesOf(site: Site): string {
  const number = Number(networkOf(site).cidr.split(".")[2]);
  return `${240 + (number >> 6)}.${(number & 63) * 4}.0.0/14`;
}

function networkOf({ name, layout }: Site) {
  if (layout.nodeNetwork === undefined) throw new Error(`${name} has no network for nodes`);
  return layout.nodeNetwork;
}
