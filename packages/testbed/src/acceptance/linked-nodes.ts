import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { FOLLOWER_NAME, followerRights, GATEWAY_NAME, gatewayRights, installObjects } from "@fjord/agent";
import { AGENT_NAMESPACE } from "@fjord/api";
import { KubeClient } from "@fjord/kube";
import { writeAccountKubeconfig } from "../agents/account-kubeconfig.ts";
import type { ManagedProcess } from "../managed-process.ts";
import type { NetworkNamespaces } from "../namespaces/index.ts";
import type { RealNode } from "../nodes/node.ts";
import { enterFile, inside } from "../nodes/node-scripts.ts";
import { testedAgent } from "../release/tested-program.ts";
import type { Site } from "../site.ts";
import { wireguardProgram } from "../testing.ts";

const CLOCK = new URL("../agents/clock-ahead.ts", import.meta.url);
const AGENT = testedAgent();

/** Gives a node an address on the wire on which gateways of sites meet (`makeWire`): its site's network leads nowhere else. */
export async function joinWire(namespaces: NetworkNamespaces, node: RealNode, address: string): Promise<void> {
  const pid = (await readFile(join(node.directory, "pid"), "utf8")).trim();
  const port = portOf(address);
  await namespaces.ip("wan", "link", "add", port, "type", "veth", "peer", "name", "wan0", "netns", pid);
  await namespaces.ip("wan", "link", "set", "dev", port, "master", "wire", "up");
  await node.run(["ip", "address", "add", `${address}/24`, "dev", "wan0"], "join the wire");
  await node.run(["ip", "link", "set", "dev", "wan0", "up"], "join the wire");
}

/** As a node does that was started anew. The cable of before goes with the namespaces it led to: it is there no more, or not for long. */
export async function joinWireAgain(namespaces: NetworkNamespaces, node: RealNode, address: string): Promise<true> {
  await namespaces.ip("wan", "link", "delete", portOf(address)).catch(() => {});
  await joinWire(namespaces, node, address);
  return true;
}

/** Cuts a node off from its site's network and from the wire, or joins it to them again. */
export async function setCables(
  namespaces: NetworkNamespaces,
  node: RealNode,
  wireAddress: string,
  state: "up" | "down",
): Promise<void> {
  await namespaces.ip("wan", "link", "set", "dev", portOf(wireAddress), state);
  await promisify(execFile)("ip", ["link", "set", "dev", node.plan.link, state]);
}

const portOf = (address: string) => `port${address.split(".").at(-1)}`;

/** What a node is to its site's links: it may carry them, or only follows. */
export type LinkRole = "gateway" | "node";

/** `fjord-agent gateway` on a node, with the rights that an installation gives to it, and no others. */
export async function startGateway(
  site: Site,
  node: RealNode,
  role: LinkRole,
  ...flags: readonly string[]
): Promise<ManagedProcess> {
  const account = role === "gateway" ? GATEWAY_NAME : FOLLOWER_NAME;
  await writeLinkKubeconfig(site, role, join(node.directory, "etc", `${account}.kubeconfig`));
  return await startGatewayIn(site, ["/bin/sh", enterFile(node.directory)], {
    name: linkProcess(node, role),
    kubeconfig: `${inside.directory}/etc/${account}.kubeconfig`,
    flags: [`--node=${node.name}`, `--role=${role}`, ...flags],
    env: { NODE_OPTIONS: `--import=${CLOCK}`, FJORD_TEST_CLOCK_FILE: `${inside.directory}/clock-ahead` },
  });
}

export interface GatewayProcess {
  readonly name: string;
  readonly kubeconfig: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** `fjord-agent gateway` where `prefix` leads a command to. */
export async function startGatewayIn(
  site: Site,
  prefix: readonly string[],
  { name, kubeconfig, flags = [], env = {} }: GatewayProcess,
): Promise<ManagedProcess> {
  const [file = "", ...enter] = prefix;
  const program = ["gateway", "run", `--kubeconfig=${kubeconfig}`, `--wireguard-go=${wireguardProgram()}`];
  const started = site.addProcess({ name, file, env, args: [...enter, process.execPath, AGENT, ...program, ...flags] });
  await started.start();
  return started;
}

/** A kubeconfig with the rights that an installation gives to that role. */
export async function writeLinkKubeconfig(site: Site, role: LinkRole, file: string): Promise<void> {
  await using client = new KubeClient(site.config, { closeGraceMs: 1_000 });
  const rights = role === "gateway" ? gatewayRights(AGENT_NAMESPACE) : followerRights(AGENT_NAMESPACE);
  await installObjects(client, rights, { signal: new AbortController().signal, told: () => {} });
  await writeAccountKubeconfig(client, site, role === "gateway" ? GATEWAY_NAME : FOLLOWER_NAME, file);
}

/** By how many milliseconds that process's clock is ahead, where there is such a file. */
export const clockFile = (node: RealNode) => join(node.directory, "clock-ahead");

/** What that process is called. */
export const linkProcess = (node: RealNode, role: LinkRole = "gateway") => `link-${role}-${node.name}`;

export async function removeGateway(node: RealNode): Promise<void> {
  await node.run([process.execPath, AGENT, "gateway", "remove"], "remove the gateway");
}

/** All that somebody may have put into a node's network; not what containers and the kernel put there by themselves. */
export async function networkOf(node: RealNode): Promise<string[]> {
  const run = (...command: string[]) => node.run(command, "look at the network");
  const links = JSON.parse(await run("ip", "-json", "link")) as { ifname: string }[];
  const rules = [...(await run("ip", "rule")).split("\n"), ...(await run("ip", "-6", "rule")).split("\n")];
  const routes = (await run("ip", "route", "show", "table", "all")).split("\n");
  const tables = (await run("nft", "list", "tables")).split("\n");
  return [
    ...links.map(({ ifname }) => ifname).filter((name) => !name.startsWith("veth")),
    ...rules,
    ...routes.filter((route) => !/ dev veth|table local|^fe80|^multicast/.test(route)),
    ...tables,
  ]
    .filter((line) => line !== "")
    .sort();
}
