import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "@fjord/base";
import { KubeClient, Node } from "@fjord/kube";
import { NotReadyError, ProcessEndedError } from "./errors.ts";
import type { Site, StartOptions } from "./site.ts";
import { siteFiles } from "./site-layout.ts";
import { waitFor } from "./wait.ts";

/** Of the process that plays a site's nodes. */
export const SIMULATOR = "fjord-node-simulate";
const program = fileURLToPath(new URL("cli.ts", import.meta.resolve("@fjord/node")));

/** Gives a site nodes that Fjord simulates: pods on them become Running, and no container ever runs. */
export async function startSimulatedNodes(
  site: Site,
  count: number,
  options: StartOptions & { clock?: Clock },
): Promise<void> {
  const { layout } = site;
  const fleet = `${site.name}-simulated`;
  const simulator = site.addProcess({
    name: SIMULATOR,
    file: process.execPath,
    args: [
      program,
      "simulate",
      `--nodes=${count}`,
      `--name=${fleet}`,
      `--kubeconfig=${siteFiles(layout).adminKubeconfig}`,
      `--pod-range=${layout.podCidr}`,
    ],
  });
  await simulator.start();
  const what = `${count} simulated nodes to be Ready`;
  const client = new KubeClient(site.config);
  try {
    const ready = await waitFor(
      async () => {
        if (!simulator.running) {
          const { log } = simulator.record;
          throw new ProcessEndedError({ process: SIMULATOR, site: site.name, what, log, tail: simulator.logTail() });
        }
        const { items } = await client.list(Node, { labelSelector: `simulated.fjord.dev/fleet=${fleet}` });
        return items.filter(isReady).length >= count;
      },
      { ...options, clock: options.clock ?? systemClock, interval: 50 },
    );
    const seconds = Math.round(options.timeout / 1000);
    if (!ready) throw new NotReadyError({ site: site.name, what, seconds, last: simulator.logTail(1) });
  } finally {
    await client.close();
  }
}

function isReady({ spec, status }: Node): boolean {
  // The node's controller takes its taint away a moment after the node is Ready; until then nothing is scheduled there.
  if (spec?.taints?.some(({ key }) => key === "node.kubernetes.io/not-ready")) return false;
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}
