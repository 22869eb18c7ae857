import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock, Random } from "@fjord/base";
import { clusterConfig, kubeconfigOf } from "@fjord/kube";
import { pathAddress, type SiteLayout, siteFiles } from "../site-layout.ts";
import { Network } from "./network.ts";

/**
 * A network between the sites of a bed, with a path from each site to the API server of each other one. `restore` is
 * called before the first of them opens, so that what was cut is cut from the beginning.
 */
export async function openBedNetwork(
  layouts: readonly SiteLayout[],
  clock: Clock,
  random: Random,
  restore: (network: Network) => Promise<void> = async () => {},
): Promise<Network> {
  const byName = new Map(layouts.map((layout) => [layout.name, layout]));
  const network = new Network({
    sites: [...byName.keys()],
    address: (from, to) => addressBetween(byName.get(from) as SiteLayout, byName.get(to) as SiteLayout),
    clock,
    random,
  });
  try {
    await restore(network);
    for (const { from, to } of network.paths) {
      const { address, ports } = byName.get(to) as SiteLayout;
      // The same port as the API server's own: nobody else has it, and it stays when the network is started again.
      await network.expose(from, to, { host: address, port: ports.apiserver }, ports.apiserver);
    }
  } catch (error) {
    await network.close();
    throw error;
  }
  return network;
}

/** The URL by which `from` reaches the API server of `to`. */
export function pathServer(from: SiteLayout, to: SiteLayout): string {
  return `https://${addressBetween(from, to)}:${to.ports.apiserver}`;
}

/** A kubeconfig file for the administrator of `to`, as seen from `from`. */
export function pathKubeconfig(from: SiteLayout, to: SiteLayout): string {
  return join(from.directory, "paths", `${to.name}.kubeconfig`);
}

/** Writes the kubeconfig files of all paths. */
export async function writePathKubeconfigs(layouts: readonly SiteLayout[]): Promise<void> {
  const pairs = layouts.flatMap((from) => layouts.filter((to) => to !== from).map((to) => [from, to] as const));
  for (const [from, to] of pairs) {
    const files = siteFiles(to);
    const [ca = "", cert = "", key = ""] = await Promise.all(
      [files.certificate("ca"), files.certificate("admin"), files.key("admin")].map((file) => readFile(file, "utf8")),
    );
    const file = pathKubeconfig(from, to);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const config = clusterConfig({ server: pathServer(from, to), ca, cert, key });
    await writeFile(file, await kubeconfigOf(config, to.name), { mode: 0o600 });
  }
}

/** Pods of a site with real nodes find other sites on their bridge; otherwise each path has a loopback address. */
function addressBetween(from: SiteLayout, to: SiteLayout): string {
  return from.nodeNetwork?.address ?? pathAddress(from.index, to.index);
}
