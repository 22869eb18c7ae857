import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Clock, Logger, Random } from "@fjord/base";
import { loadClusterConfig } from "@fjord/kube";
import { type Command, Option } from "commander";
import { NodeAgent } from "../agent/node-agent.ts";
import { machineAddress, parseResolverFile } from "./host-settings.ts";
import {
  addressesOption,
  countOption,
  labelsOption,
  nodeNameOption,
  resourcesOption,
  taintsOption,
} from "./option-values.ts";
import { openRuntimes } from "./runtimes.ts";
import { servingTls } from "./serving-tls.ts";

export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly isRoot: boolean;
  /** Aborts when the program is asked to stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface RunFlags {
  kubeconfig?: string;
  nodeName?: string;
  nodeIp: string[];
  stateDir?: string;
  runtime?: "cri" | "process";
  cri?: string;
  podRange?: string;
  label: string[];
  taint: string[];
  capacity: string[];
  reserve: string[];
  maxPods: string;
  clusterDns: string[];
  clusterDomain: string;
  resolvConf: string;
  cgroupRoot: string;
  address?: string;
  port: string;
  tlsCert?: string;
  tlsKey?: string;
  clientCa?: string;
}

const several = (value: string, before: string[]) => [...before, value];

export function addRun(program: Command, context: CommandContext): void {
  program
    .command("run")
    .description("join a Kubernetes API as a node and run the pods that are bound to it, until interrupted")
    .option("--kubeconfig <file>", "how to reach the API (default: as kubectl)")
    .option("--node-name <name>", "name of the Node object (default: the machine's host name)")
    .option("--node-ip <address>", "address of the node, one of each family", several, [])
    .option(
      "--state-dir <path>",
      "where the node keeps what it needs (default: /var/lib/fjord-node, or below the home directory where not root)",
    )
    .addOption(
      new Option(
        "--runtime <name>",
        "what runs pods without a runtimeClassName (default: cri where --cri is given)",
      ).choices(["cri", "process"]),
    )
    .option("--cri <socket>", "unix socket of a container runtime, such as /run/containerd/containerd.sock")
    .option("--pod-range <cidr>", "addresses for pods of the process runtime, inside 127.0.0.0/8")
    .option("--label <name=value>", "label of the node; several times, or several with commas", several, [])
    .option("--taint <key=value:effect>", "taint of the node when it first registers", several, [])
    .option("--capacity <resource=amount>", "instead of what the machine has, or beside it", several, [])
    .option("--reserve <resource=amount>", "kept for the system", several, [])
    .option("--max-pods <count>", "how many pods the node takes", "110")
    .option("--cluster-dns <address>", "address of the cluster's DNS service", several, [])
    .option("--cluster-domain <name>", "the cluster's domain", "cluster.local")
    .option("--resolv-conf <file>", "resolver settings for pods of dnsPolicy Default", "/etc/resolv.conf")
    .option("--cgroup-root <path>", "control group below which pods are", "")
    .option("--address <address>", "where the kubelet API listens (default: everywhere)")
    .option("--port <number>", "port of the kubelet API", "10250")
    .option("--tls-cert <file>", "serving certificate of the kubelet API (default: one that the node makes)")
    .option("--tls-key <file>", "key of that certificate")
    .option("--client-ca <file>", "whose client certificates the kubelet API believes (default: the cluster's)")
    .action((flags: RunFlags) => runNode(flags, context));
}

async function runNode(flags: RunFlags, context: CommandContext): Promise<void> {
  const { env, home, isRoot, signal, clock, random, logger } = context;
  const nodeName = nodeNameOption("--node-name", flags.nodeName ?? hostname());
  const given = addressesOption("--node-ip", flags.nodeIp);
  const addresses = given.length > 0 ? given : [machineAddress()];
  const stateDirectory = resolve(
    flags.stateDir ?? (isRoot ? "/var/lib/fjord-node" : `${home}/.local/share/fjord/node`),
  );
  const labels = labelsOption("--label", flags.label);
  const taints = taintsOption(flags.taint);
  const resources = {
    pods: countOption("--max-pods", flags.maxPods, 0, 10_000),
    override: resourcesOption("--capacity", flags.capacity),
    reserved: resourcesOption("--reserve", flags.reserve),
  };
  const port = countOption("--port", flags.port, 1, 65_535);
  const clusterDns = addressesOption("--cluster-dns", flags.clusterDns);
  const cluster = await loadClusterConfig({ env, home, ...(flags.kubeconfig && { kubeconfig: flags.kubeconfig }) });
  const runtimes = await openRuntimes({ ...flags, stateDirectory, clock, logger });
  const tls = await servingTls({ ...flags, nodeName, addresses, cluster, clock });
  const agent = new NodeAgent({
    nodeName,
    addresses,
    labels,
    taints,
    stateDirectory,
    cluster,
    runtimes,
    resources,
    clusterDns,
    clusterDomain: flags.clusterDomain,
    hostDns: parseResolverFile(await readFile(flags.resolvConf, "utf8").catch(() => "")),
    cgroupRoot: flags.cgroupRoot,
    tls,
    port,
    ...(flags.address !== undefined && { host: flags.address }),
    clock,
    random,
    logger,
  });
  await agent.run(signal);
}
