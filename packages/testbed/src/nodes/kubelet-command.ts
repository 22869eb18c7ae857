import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { containerdSocket } from "./containerd-config.ts";
import { inside } from "./node-scripts.ts";
import type { NodeServices } from "./node-services.ts";

/** What runs the pods of a node: Kubernetes' own kubelet, or Fjord's node. */
export const kubelets = ["kubernetes", "fjord"] as const;

export type Kubelet = (typeof kubelets)[number];

export interface KubeletCommandOptions {
  readonly node: string;
  /** Of each family that pods have. */
  readonly addresses: readonly string[];
  readonly cgroupRoot: string;
  readonly dnsServiceAddress: string;
  /** "node": it serves Services and names itself. */
  readonly services: NodeServices;
  /** Fjord's node as it is shipped: the file of a bundle inside this repository. @default its source */
  readonly fjordProgram?: string;
  /** Where the node sees a file of its configuration. */
  readonly etc: (file: string) => string;
}

/** The command of a node's kubelet, as the node sees it. */
export function kubeletCommand(kubelet: Kubelet, options: KubeletCommandOptions): string[] {
  return kubelet === "fjord" ? fjordNode(options) : kubernetesKubelet(options);
}

/** What of the machine the command needs: programs and folders by the names that it has for them. */
export interface KubeletFiles {
  readonly programs: Readonly<Record<string, string>>;
  readonly folders: Readonly<Record<string, string>>;
}

export function kubeletFiles(kubelet: Kubelet, kubernetesFile: string): KubeletFiles {
  return kubelet === "fjord"
    ? { programs: { node: process.execPath }, folders: { fjord: repository } }
    : { programs: { kubelet: kubernetesFile }, folders: {} };
}

/** Which kubelet the process with these arguments is. */
export function kubeletOf(args: readonly string[]): Kubelet {
  return args.includes(inside.program("node")) ? "fjord" : "kubernetes";
}

const repository = fileURLToPath(new URL("../../../..", import.meta.url));
const fjordCli = join(repository, "packages/node/src/cli.ts");

function kubernetesKubelet({ node, addresses, etc }: KubeletCommandOptions): string[] {
  return [
    inside.program("kubelet"),
    `--config=${etc("kubelet.yaml")}`,
    `--kubeconfig=${etc("kubelet.kubeconfig")}`,
    `--hostname-override=${node}`,
    `--node-ip=${addresses.join(",")}`,
  ];
}

function fjordNode(options: KubeletCommandOptions): string[] {
  const { node, addresses, cgroupRoot, dnsServiceAddress, services, fjordProgram = fjordCli, etc } = options;
  const flags = {
    kubeconfig: etc("kubelet.kubeconfig"),
    "node-name": node,
    "node-ip": addresses[0] ?? "",
    "state-dir": "/var/lib/fjord-node",
    cri: containerdSocket,
    "tls-cert": etc("kubelet.crt"),
    "tls-key": etc("kubelet.key"),
    "client-ca": etc("ca.crt"),
    "cluster-dns": dnsServiceAddress,
    "cluster-domain": "cluster.local",
    "cgroup-root": cgroupRoot,
    ...(services === "node" && { services: "nftables", "serve-dns": dnsServiceAddress }),
  };
  return [
    inside.program("node"),
    join(inside.folder("fjord"), relative(repository, fjordProgram)),
    "run",
    ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
  ];
}
