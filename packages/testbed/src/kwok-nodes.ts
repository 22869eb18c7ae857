import { type Clock, systemClock } from "@fjord/base";
import { KubeClient, Node } from "@fjord/kube";
import type { Binaries } from "./binaries/find.ts";
import { NotReadyError } from "./errors.ts";
import type { Site, StartOptions } from "./site.ts";
import { siteFiles } from "./site-layout.ts";
import { waitFor } from "./wait.ts";

const annotation = "kwok.x-k8s.io/node";
const atOnce = 20;

/**
 * Gives a site nodes that kwok plays, for measurements beside what others measured with it. It deletes pods by their
 * name alone, also one of that name made since, and cannot serve where pods must not be lost.
 */
export async function startKwokNodes(
  site: Site,
  count: number,
  binaries: Binaries,
  options: StartOptions & { clock?: Clock },
): Promise<void> {
  const { layout } = site;
  const process = site.addProcess({
    name: "kwok",
    file: binaries.path("kwok", layout.kubernetes),
    args: [
      `--kubeconfig=${siteFiles(layout).adminKubeconfig}`,
      `--config=${binaries.path("kwok-stages.yaml", layout.kubernetes)}`,
      `--manage-nodes-with-annotation-selector=${annotation}=fake`,
      `--cidr=${layout.podCidr}`,
      "--node-lease-duration-seconds=40",
    ],
    // It keeps a folder there.
    env: { HOME: layout.directory },
  });
  await process.start();
  const names = Array.from({ length: count }, (_, i) => `${site.name}-simulated-${i + 1}`);
  const client = new KubeClient(site.config);
  try {
    for (let i = 0; i < names.length; i += atOnce) {
      options.signal?.throwIfAborted();
      await Promise.all(names.slice(i, i + atOnce).map((name) => client.create(Node, forgeKwokNode(name))));
    }
    const ready = await waitFor(
      async () => {
        const { items } = await client.list(Node, { labelSelector: "type=kwok" });
        return items.filter(isReady).length >= count;
      },
      { ...options, clock: options.clock ?? systemClock, interval: 200 },
    );
    const what = `${count} simulated nodes to be Ready`;
    const seconds = Math.round(options.timeout / 1000);
    if (!ready) throw new NotReadyError({ site: site.name, what, seconds, last: process.logTail(1) });
  } finally {
    await client.close();
  }
}

/** A node of a size that no test fills by accident. */
export function forgeKwokNode(name: string): Node {
  const resources = { cpu: "32", memory: "256Gi", pods: "110", "ephemeral-storage": "1Ti" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      annotations: { [annotation]: "fake" },
      labels: {
        type: "kwok",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
      },
    },
    status: { allocatable: resources, capacity: resources },
  };
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}
