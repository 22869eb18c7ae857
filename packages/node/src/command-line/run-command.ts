import { readFile } from "node:fs/promises";
import { flushCompileCache } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock, Logger, Random } from "@fjord/base";
import { type Command, Option } from "commander";
import { type KubeletApiOptions, NodeAgent } from "../agent/node-agent.ts";
import type { LocalClients } from "../local-clients/index.ts";
import { defaultHardThresholds, parseThresholds, type Threshold } from "../machine/eviction/index.ts";
import type { ResourcePlan } from "../machine/index.ts";
import { addressTowards } from "../machine/node-address.ts";
import { type BootstrapOptions, joinCluster } from "../registration/index.ts";
import type { ProcessRuntime } from "../runtimes/process/index.ts";
import type { ServiceOptions } from "../services/index.ts";
import { NodeStore } from "../store/index.ts";
import { InvalidNodeOption } from "./errors.ts";
import { fileOption } from "./file-option.ts";
import {
  addressesOption,
  certificatesOption,
  cgroupOption,
  countOption,
  domainOption,
  endpointOption,
  labelsOption,
  nodeNameOption,
  resourcesOption,
  serverOption,
  taintsOption,
  tokenOption,
} from "./option-values.ts";
import { parseResolverFile } from "./resolver-file.ts";
import { claimRuntime } from "./runtime-claim.ts";
import { openRuntimes } from "./runtimes.ts";
import { makeStateDirectory, stateDirectoryOf } from "./state-directory.ts";

export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly isRoot: boolean;
  /** Aborts when the program is asked to stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What was logged of late, which the node serves to whoever may read its logs. */
  readonly ownLog?: () => string;
  /** For whoever else is in this process: told which processes are whose, and for whom connections are passed on. */
  readonly clients?: LocalClients;
}

/** The options of `fjord-node run`, as its user writes them. */
export interface RunFlags {
  kubeconfig?: string;
  server?: string;
  ca?: string;
  caHash: string[];
  bootstrapToken?: string;
  evictionHard: string;
  requestServingCert: boolean;
  nodeName?: string;
  nodeIp: string[];
  stateDir?: string;
  runtime?: "cri" | "process" | "simulated";
  cri?: string;
  podRange?: string;
  simulatedRules?: string;
  label: string[];
  taint: string[];
  capacity: string[];
  reserve: string[];
  maxPods: string;
  clusterDns: string[];
  clusterDomain: string;
  resolvConf?: string;
  services: "none" | ServiceOptions["mode"];
  serveDns?: string;
  cgroupRoot: string;
  address?: string;
  port: string;
  tlsCert?: string;
  tlsKey?: string;
  clientCa?: string;
}

const RESOLVER_FILE = "/etc/resolv.conf";

/** What holds where nothing is said. */
const defaults = {
  caHash: [],
  evictionHard: defaultHardThresholds,
  requestServingCert: false,
  nodeIp: [],
  label: [],
  taint: [],
  capacity: [],
  reserve: [],
  maxPods: "110",
  clusterDns: [],
  clusterDomain: "cluster.local",
  services: "none",
  cgroupRoot: "",
  port: "10250",
} satisfies RunFlags;

const several = (value: string, before: string[]) => [...before, value];

export function addRun(program: Command, context: CommandContext): void {
  program
    .command("run")
    .description("join a Kubernetes API as a node and run the pods that are bound to it, until interrupted")
    .option("--kubeconfig <file>", "how to reach the API, with the node's own credentials")
    .option("--server <url>", "the API to join by bootstrap token, when the node has no credentials yet")
    .option("--ca <file>", "certificate authority of that API")
    .option("--ca-hash <sha256:hex>", "instead of the authority: the hash of its public key", several, defaults.caHash)
    .option(
      "--bootstrap-token <token>",
      "token to ask for the node's credentials with; not needed again once it has them",
    )
    .option("--node-name <name>", "name of the Node object (default: the machine's host name)")
    .option("--node-ip <address>", "address of the node, one of each family", several, defaults.nodeIp)
    .option(
      "--state-dir <path>",
      "where the node keeps what it needs (default: /var/lib/fjord-node, or below the home directory where not root)",
    )
    .addOption(
      new Option(
        "--runtime <name>",
        "what runs pods without a runtimeClassName (default: cri where --cri is given)",
      ).choices(["cri", "process", "simulated"]),
    )
    .option("--cri <socket>", "unix socket of a container runtime, such as /run/containerd/containerd.sock")
    .option("--pod-range <cidr>", "addresses for pods of the process runtime, inside 127.0.0.0/8, or simulated ones")
    .option("--simulated-rules <file>", "what becomes of simulated pods, in YAML; see docs/simulated.md")
    .option("--label <name=value>", "label of the node; several times, or several with commas", several, defaults.label)
    .option("--taint <key=value:effect>", "taint of the node when it first registers", several, defaults.taint)
    .option("--capacity <resource=amount>", "instead of what the machine has, or beside it", several, defaults.capacity)
    .option("--reserve <resource=amount>", "kept for the system", several, defaults.reserve)
    .option("--max-pods <count>", "how many pods the node takes", defaults.maxPods)
    .option("--cluster-dns <address>", "address of the cluster's DNS service", several, defaults.clusterDns)
    .option("--cluster-domain <name>", "the cluster's domain", defaults.clusterDomain)
    .option("--resolv-conf <file>", `resolver settings for pods of dnsPolicy Default (default: ${RESOLVER_FILE})`)
    .addOption(
      new Option("--services <how>", "serve Services on this node, where the cluster has no kube-proxy")
        .choices(["none", "userspace", "nftables"])
        .default(defaults.services),
    )
    .option("--serve-dns <address[:port]>", "serve the cluster's names there; needs --services")
    .option("--cgroup-root <path>", "control group below which pods are", defaults.cgroupRoot)
    .option("--eviction-hard <thresholds>", "when pods are evicted at once", defaults.evictionHard)
    .option("--address <address>", "where the kubelet API listens (default: everywhere)")
    .option("--port <number>", "port of the kubelet API", defaults.port)
    .option("--tls-cert <file>", "serving certificate of the kubelet API (default: one that the node makes)")
    .option("--tls-key <file>", "key of that certificate")
    .option(
      "--request-serving-cert",
      "ask the cluster to sign the node's own; somebody has to approve it",
      defaults.requestServingCert,
    )
    .option("--client-ca <file>", "whose client certificates the kubelet API believes (default: the cluster's)")
    .action((flags: RunFlags) => runNode(flags, context));
}

/** What `fjord-node run` does, for programs that have a node among other things. */
export async function runNode(wanted: Partial<RunFlags>, context: CommandContext): Promise<void> {
  const flags: RunFlags = { ...defaults, ...wanted };
  const { env, signal, clock, random, logger } = context;
  const nodeName = nodeNameOption("--node-name", flags.nodeName ?? hostname());
  const given = addressesOption("--node-ip", flags.nodeIp);
  const stateDirectory = stateDirectoryOf(flags, context);
  const labels = labelsOption("--label", flags.label);
  const taints = taintsOption(flags.taint);
  const evictionThresholds = parseThresholds(flags.evictionHard);
  const resources = {
    ...evictionReserve(evictionThresholds),
    pods: countOption("--max-pods", flags.maxPods, 0, 10_000),
    override: resourcesOption("--capacity", flags.capacity),
    reserved: resourcesOption("--reserve", flags.reserve),
  };
  const port = countOption("--port", flags.port, 1, 65_535);
  const clusterDns = addressesOption("--cluster-dns", flags.clusterDns);
  const clusterDomain = domainOption("--cluster-domain", flags.clusterDomain);
  const cgroupRoot = cgroupOption("--cgroup-root", flags.cgroupRoot);
  const hostDns = parseResolverFile(await resolverText(flags.resolvConf));
  const services = servicesOption(flags, hostDns.servers);
  const kubeletApi = { ...(await kubeletApiOptions(flags, port)), ...(context.ownLog && { ownLog: context.ownLog }) };
  const bootstrap = await bootstrapOptions(flags);
  // Before anything is touched or asked for that another node on the same directory might use.
  await makeStateDirectory(stateDirectory);
  using store = await NodeStore.open({ file: join(stateDirectory, "node.db"), clock, logger });
  await using _ = flags.cri === undefined ? undefined : await claimRuntime(flags.cri, context, signal);
  const cluster = await joinCluster(
    {
      nodeName,
      pkiDirectory: join(stateDirectory, "pki"),
      ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
      ...(bootstrap && { bootstrap }),
      env,
      clock,
      random,
      logger,
    },
    signal,
  ).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  // Stopped before it has joined.
  if (cluster === undefined) return;
  const { clients } = context;
  const runtimes = await openRuntimes({ ...flags, stateDirectory, clock, logger });
  for (const runtime of new Set(runtimes.values()))
    if ("podProcesses" in runtime) clients?.follow(() => (runtime as ProcessRuntime).podProcesses());
  // Where compiled code is kept (NODE_COMPILE_CACHE), it is now: who is killed would else never have it at the next start.
  flushCompileCache();
  const agent = new NodeAgent({
    nodeName,
    addresses: given.length > 0 ? given : [await addressTowards(cluster.config.server)],
    labels,
    taints,
    stateDirectory,
    store,
    cluster,
    runtimes,
    runtimeName: [...runtimes].find(([name, runtime]) => name !== "" && runtime === runtimes.get(""))?.[0] ?? "",
    resources,
    evictionThresholds,
    kubeletApi,
    ...(services && { services: { ...services, ...(clients && { clients }) } }),
    clusterDns,
    clusterDomain,
    hostDns,
    cgroupRoot,
    clock,
    random,
    logger,
  });
  await agent.run(signal);
  logger.info("the node has stopped; its pods go on running", { node: nodeName });
}

/** A machine may have no such file, but one that is named has to be there. */
async function resolverText(file: string | undefined): Promise<string> {
  if (file !== undefined) return await fileOption("--resolv-conf", file);
  return await readFile(RESOLVER_FILE, "utf8").catch(() => "");
}

/** Names that are not the cluster's are asked of the machine's own servers. */
function servicesOption({ services, serveDns }: RunFlags, upstreams: readonly string[]): ServiceOptions | undefined {
  if (services === "none") {
    if (serveDns === undefined) return undefined;
    throw new InvalidNodeOption({ option: "--serve-dns", value: serveDns, reason: "it needs --services" });
  }
  if (serveDns === undefined) return { mode: services };
  const dns = endpointOption("--serve-dns", serveDns, 53);
  return { mode: services, dns: { ...dns, upstreams: upstreams.filter((server) => server !== dns.address) } };
}

/** What is kept free by eviction cannot be promised to pods. */
function evictionReserve(thresholds: readonly Threshold[]): ResourcePlan {
  const below = (signal: Threshold["signal"]) => thresholds.find((each) => each.signal === signal)?.below;
  const memory = below("memory.available");
  const storage = below("nodefs.available");
  return {
    ...(memory !== undefined && "absolute" in memory && { evictionMemoryBytes: memory.absolute }),
    ...(storage !== undefined && "share" in storage && { evictionStorageShare: storage.share }),
  };
}

async function kubeletApiOptions(flags: RunFlags, port: number): Promise<KubeletApiOptions> {
  const { address, tlsCert, tlsKey, clientCa, requestServingCert } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new InvalidNodeOption({
      option: tlsCert === undefined ? "--tls-key" : "--tls-cert",
      value: tlsCert ?? tlsKey ?? "",
      reason: "a certificate and its key are given together or not at all",
    });
  }
  // Told before the node joins: it reads them again when they change.
  if (tlsCert !== undefined) await fileOption("--tls-cert", tlsCert);
  if (tlsKey !== undefined) await fileOption("--tls-key", tlsKey);
  return {
    port,
    ...(address !== undefined && { host: address }),
    ...(clientCa !== undefined && {
      clientCa: certificatesOption("--client-ca", clientCa, await fileOption("--client-ca", clientCa)),
    }),
    ...(tlsCert !== undefined && tlsKey !== undefined && { files: { cert: tlsCert, key: tlsKey } }),
    request: requestServingCert,
  };
}

async function bootstrapOptions(flags: RunFlags): Promise<BootstrapOptions | undefined> {
  const { server, bootstrapToken: token, ca, caHash } = flags;
  if (token === undefined) return undefined;
  if (server === undefined) {
    throw new InvalidNodeOption({ option: "--bootstrap-token", value: "…", reason: "it needs --server" });
  }
  return {
    server: serverOption("--server", server),
    token: tokenOption("--bootstrap-token", token),
    ...(ca !== undefined && { ca: certificatesOption("--ca", ca, await fileOption("--ca", ca)) }),
    ...(caHash.length > 0 && { caHashes: caHash }),
  };
}
