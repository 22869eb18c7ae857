import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type KubeClient, Node } from "@fjord/kube";
import { findBinaries, type ManagedProcess, type Site, siteFiles } from "@fjord/testbed";
import { inParallel } from "./in-parallel.ts";

/** Something that plays nodes. */
export interface Simulator {
  readonly name: string;
  /** Its nodes are `PREFIX-1`, `PREFIX-2` and so on. */
  readonly prefix: string;
  start(site: Site): Promise<ManagedProcess>;
  addNodes(site: Site, client: KubeClient, count: number, process: ManagedProcess): Promise<void>;
}

/** As many requests about pods as both may have under way. */
const PARALLEL = 24;
const CAPACITY = { cpu: "32", memory: "256Gi", pods: "110", "ephemeral-storage": "1Ti" };

/** This package. */
export function fjordFleet(program: string, directory: string): Simulator {
  const rules = join(directory, "rules.yaml");
  return {
    name: "fjord-node simulate",
    prefix: "fleet",
    async start(site) {
      await writeFile(rules, "nodeCount: 0\n");
      const child = site.addProcess({
        name: "fjord-node",
        file: process.execPath,
        args: [
          program,
          "simulate",
          `--kubeconfig=${siteFiles(site.layout).adminKubeconfig}`,
          "--nodes=0",
          `--rules=${rules}`,
          "--name=fleet",
          `--parallel=${PARALLEL}`,
        ],
        env: { PATH: process.env.PATH ?? "" },
      });
      await child.start();
      // Before it says so, the signal that gives it nodes would end it.
      for (let wait = 0; wait < 600 && !child.logTail(20).includes("nodes of the fleet are registered"); wait++)
        await pause(100);
      return child;
    },
    async addNodes(_site, _client, count, child) {
      await writeFile(rules, `nodeCount: ${count}\n`);
      process.kill(child.pid ?? 0, "SIGHUP");
    },
  };
}

export function kwok(directory: string): Simulator {
  const { binaries } = findBinaries({ env: process.env, sets: ["control-plane", "kwok"] });
  return {
    name: "kwok",
    prefix: "fleet",
    async start(site) {
      const { layout } = site;
      const settings = join(directory, "kwok.yaml");
      await writeFile(settings, kwokSettings());
      const child = site.addProcess({
        name: "kwok",
        file: binaries.path("kwok", layout.kubernetes),
        args: [
          `--kubeconfig=${siteFiles(layout).adminKubeconfig}`,
          `--config=${binaries.path("kwok-stages.yaml", layout.kubernetes)}`,
          `--config=${settings}`,
          "--manage-nodes-with-label-selector=type=kwok",
          "--cidr=10.64.0.0/10",
          "--node-lease-duration-seconds=40",
        ],
        // It keeps a folder there.
        env: { HOME: layout.directory },
      });
      await child.start();
      return child;
    },
    async addNodes(_site, client, count) {
      await inParallel(count, 32, (index) => client.create(Node, kwokNode(`fleet-${index + 1}`)));
    },
  };
}

function kwokSettings(): string {
  const parallel = ["nodePlayStageParallelism", "podPlayStageParallelism", "nodeLeaseParallelism"];
  const lines = parallel.map((name) => `  ${name}: ${PARALLEL}`);
  return `apiVersion: config.kwok.x-k8s.io/v1alpha1\nkind: KwokConfiguration\noptions:\n${lines.join("\n")}\n`;
}

function kwokNode(name: string): Node {
  const labels = { type: "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" };
  const status = { allocatable: CAPACITY, capacity: CAPACITY };
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels }, status };
}
