import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { installObjects, manifests, type PageSettings } from "@fjord/agent";
import { Agent } from "@fjord/agent/agent";
import { AGENT_NAMESPACE, type GuestPrivilege, Site, TIER_LABEL } from "@fjord/api";
import type { Clock, Logger, Random } from "@fjord/base";
import { clusterConfig, type KubeClient, Node } from "@fjord/kube";
import { type Microkube, startMicrokube } from "@fjord/microkube";
import { LocalClients } from "@fjord/node/local-clients";
import { runNode } from "@fjord/node/run";
import { type Progress, waitFor } from "../command-line/wait-for.ts";
import { MICRO_FIELD_MANAGER, nodeRights } from "./node-rights.ts";
import { openSiteDirectory } from "./site-directory.ts";

/** Slow machines are given time; where a part is not there by then, its log tells why. */
const STARTS_MS = 60_000;

export interface MicroSiteOptions {
  readonly name: string;
  readonly tier: "cloud" | "edge" | "device";
  /** Where everything is kept. */
  readonly stateDirectory: string;
  /** Where all of it listens; other sites reach the agent there. */
  readonly address: string;
  readonly ports: MicroPorts;
  /** Where Services get their addresses from: on loopback, so that no rights are needed. */
  readonly serviceRange: string;
  /** Where pods get theirs from, on loopback too. @default a range that no other node of this machine uses */
  readonly podRange?: string;
  /** The site's page. @default none */
  readonly page?: PageSettings;
  /** Where the cluster's names are served, where the process may. */
  readonly dns?: string;
  /** Where other sites reach the agent; none: nowhere, and it dials out to them. @default its address */
  readonly endpoints?: readonly string[];
  /** What the node says it has, instead of what the machine has. */
  readonly capacity?: readonly string[];
  readonly labels?: readonly string[];
  /** What guests may have beyond Kubernetes' baseline. @default nothing */
  readonly guestPrivileges?: readonly GuestPrivilege[];
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly isRoot: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What was logged of late: `fjord bug-report` asks the node for it. */
  readonly ownLog?: () => string;
}

export interface MicroPorts {
  readonly api: number;
  readonly kubelet: number;
  /** For agents of other sites. */
  readonly peers: number;
  readonly admission: number;
  readonly metrics: number;
}

/** What a site tells once all of it is there. */
export interface MicroSiteFacts {
  readonly server: string;
  readonly kubeconfig: string;
}

interface MicroSiteRun {
  readonly signal: AbortSignal;
  readonly serves: (facts: MicroSiteFacts) => void;
}

/** A whole site in one process: a control plane, a node that runs pods as processes, and the agent. */
export async function runMicroSite(options: MicroSiteOptions, { signal, serves }: MicroSiteRun): Promise<void> {
  const made = await openSiteDirectory(options.stateDirectory);
  let hasServed = false;
  try {
    await runParts(options, {
      signal,
      serves: (facts) => {
        hasServed = true;
        serves(facts);
      },
    });
  } finally {
    // A new site that never was leaves nothing behind, so that the next try begins where this one did.
    if (made !== undefined && !hasServed) await rm(made, { recursive: true, force: true });
  }
}

async function runParts(options: MicroSiteOptions, { signal, serves }: MicroSiteRun): Promise<void> {
  const { stateDirectory, address, ports, serviceRange, clock, random, logger } = options;
  await using plane = await startMicrokube({
    dataDir: join(stateDirectory, "kubernetes"),
    host: address,
    port: ports.api,
    serviceRanges: [serviceRange],
    clock,
    random,
    logger,
  });
  const nodeKubeconfig = await introduceNode(plane, options);
  const kubeconfig = join(stateDirectory, "kubeconfig");
  await writeFile(kubeconfig, await plane.credentials.kubeconfig(plane.server, undefined, options.name), {
    mode: 0o600,
  });
  await using client = plane.client();
  await installObjects(client, manifests({ namespace: AGENT_NAMESPACE }), { signal, told: () => {} });
  // What ends early ends the others: half a site helps nobody, and whoever started it is to know.
  const stop = new AbortController();
  const all = AbortSignal.any([signal, stop.signal]);
  // All of it is there before anything runs: nobody would hear of a part that failed meanwhile.
  const clients = new LocalClients();
  const agent = agentOf(options, plane, await agentToken(client, signal), clients);
  const parts = [runNodeOf(options, nodeKubeconfig, clients, all), agent.run(all)];
  const told = isThere(client, options.name, all)
    .catch((error: unknown) => all.aborted || logger.warn("not all of the site is there", { reason: String(error) }))
    .then(() => all.aborted || serves({ server: plane.server, kubeconfig }));
  try {
    await Promise.race(parts);
  } finally {
    stop.abort();
    await Promise.allSettled([...parts, told]);
  }
  await Promise.all(parts);
}

/** Whoever is told that a site serves may use it at once: its node takes pods, and its agent has introduced itself. */
async function isThere(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const wait = { signal, timeoutMs: STARTS_MS, what: `${name} did not start` };
  const isTrue = (conditions: readonly { type: string; status: string }[] | undefined): Progress =>
    conditions?.some(({ type, status }) => type === "Ready" && status === "True")
      ? { done: true }
      : { done: false, progress: "it is not ready" };
  await waitFor(client, Node, { name }, (node) => isTrue(node?.status?.conditions), wait);
  await waitFor(client, Site, { name }, (site) => isTrue(site?.status?.conditions), wait);
}

/** A node's own certificate, and rights for what it does beyond a kubelet's work. */
async function introduceNode(plane: Microkube, { name, stateDirectory }: MicroSiteOptions): Promise<string> {
  const subject = { commonName: `system:node:${name}`, organizations: ["system:nodes"] };
  const kubeconfig = await plane.credentials.kubeconfig(plane.server, await plane.credentials.issueClient(subject));
  await using client = plane.client();
  for (const { kind, object } of nodeRights())
    await client.apply(kind, object, { fieldManager: MICRO_FIELD_MANAGER, force: true });
  const file = join(stateDirectory, "node.kubeconfig");
  await writeFile(file, kubeconfig, { mode: 0o600 });
  return file;
}

function runNodeOf(
  options: MicroSiteOptions,
  kubeconfig: string,
  clients: LocalClients,
  signal: AbortSignal,
): Promise<void> {
  const { name, tier, stateDirectory, address, ports, dns, podRange, capacity = [], labels = [] } = options;
  return runNode(
    {
      kubeconfig,
      nodeName: name,
      nodeIp: [address],
      address,
      port: String(ports.kubelet),
      stateDir: join(stateDirectory, "node"),
      runtime: "process",
      services: "userspace",
      ...(podRange !== undefined && { podRange }),
      ...(dns !== undefined && { serveDns: dns, clusterDns: [dns] }),
      capacity: [...capacity],
      // What selects by tier means this site as well as others. What its owner says goes before it.
      label: [`${TIER_LABEL}=${tier}`, ...labels],
    },
    { ...options, clients, signal },
  );
}

/** The agent has the rights that its installation gives it, as on any cluster. */
function agentOf(options: MicroSiteOptions, plane: Microkube, token: string, clients: LocalClients): Agent {
  const { name, tier, address, ports, page, guestPrivileges = [], clock, random, logger } = options;
  const { endpoints = [`https://${host(address)}:${ports.peers}`] } = options;
  return new Agent({
    config: clusterConfig({ server: plane.server, ca: plane.credentials.clusterCa.certificate, token }),
    namespace: AGENT_NAMESPACE,
    siteName: name,
    tier,
    listen: { host: address, port: ports.peers },
    endpoints,
    internalAddress: address,
    // On loopback the API is this machine's alone; at any other address it is where the agent is.
    homeApiOption: "--address",
    admissionPort: ports.admission,
    metrics: { host: address, port: ports.metrics },
    leaderElect: false,
    guestPrivileges,
    ...(page !== undefined && { page }),
    clients,
    clock,
    random,
    logger,
  });
}

async function agentToken(client: KubeClient, signal: AbortSignal): Promise<string> {
  const key = { name: "fjord-agent", namespace: AGENT_NAMESPACE };
  return (await client.createToken(key, { expirationSeconds: 365 * 24 * 3600, signal })).token;
}

function host(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
