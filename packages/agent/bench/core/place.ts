import { KubeClient, Namespace } from "@fjord/kube";
import type { Bed, ManagedProcess, Site } from "@fjord/testbed";
import { Continuum, fjord, PLENTY } from "@fjord/testbed/agents";
import { cpuSeconds } from "@fjord/testbed/bench";
import { startTestBed } from "@fjord/testbed/testing";
import { RequestCounter } from "./request-counter.ts";

export const NAMESPACE = "bench";
const TWIN = "bench-twin";

/** Where workloads are deployed: a plain cluster, or one whose pods all go over the border to another. */
export interface Place extends AsyncDisposable {
  readonly name: string;
  /** Of the site that people deploy to. */
  readonly client: KubeClient;
  /** Of the site that runs the pods: the same one where there is no border. */
  readonly far: KubeClient;
  /** Namespace of the pods there. */
  readonly farNamespace: string;
  readonly requests: RequestCounter;
  /** Every process that has a part in the work. */
  readonly processes: readonly ManagedProcess[];
  /** The agents' processes; none on a plain cluster. */
  readonly agents: readonly ManagedProcess[];
}

const AT_ONCE = 64;

const WITHOUT_QUEUES = [
  "--enable-priority-and-fairness=false",
  "--max-requests-inflight=0",
  "--max-mutating-requests-inflight=0",
];

/** As much as a site of a bed shares. */
export const EVERYTHING: readonly string[] = Object.entries(PLENTY).map(([name, amount]) => `--${name}=${amount}`);

/** A pairing token with the agent's own address in it: a bed's paths pass through this very process, and would be measured too. */
export async function directToken(continuum: Continuum, provider: string): Promise<string> {
  const { host, port } = continuum.agent(provider).peerAddress;
  const token = await fjord(continuum.site(provider), "pair", "token", `--endpoint=https://${host}:${port}`);
  return token.trim();
}

/**
 * Nothing queues requests or refuses them for their number, so that both places meet the processors' limits and no others:
 * one that is refused comes again a second later.
 */
async function withoutQueues(site: Site): Promise<void> {
  const old = site.process("kube-apiserver");
  await old.stop();
  const { site: _, log: __, identity: ___, args, ...record } = old.record;
  site.removeProcess("kube-apiserver");
  await site.addProcess({ ...record, args: [...args, ...WITHOUT_QUEUES] }).start();
  await site.ready({ timeout: 60_000 });
}

export async function vanilla(nodes: number): Promise<Place> {
  const bed = await startTestBed({ sites: 1, components: "all", simulatedNodes: nodes, simulator: "kwok" });
  const [site] = bed.sites as [Site];
  await withoutQueues(site);
  const client = new KubeClient(site.config, { connections: AT_ONCE });
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  return place("vanilla", bed, client, client, []);
}

/** Two sites; the first has no nodes but the virtual one, and its namespace is offloaded. */
export async function border(nodes: number, program: string): Promise<Place> {
  const bed = await startTestBed({
    sites: 2,
    components: "all",
    simulatedNodes: nodes,
    simulator: "kwok",
    simulatedSites: ["site-2"],
  });
  for (const site of bed.sites) await withoutQueues(site);
  const continuum = new Continuum(bed);
  await continuum.startAgents({ program });
  await continuum.share("site-2");
  await fjord(continuum.site("site-1"), "peer", await directToken(continuum, "site-2"), ...EVERYTHING);
  const [home, far] = bed.sites.map((site) => new KubeClient(site.config, { connections: AT_ONCE })) as [
    KubeClient,
    KubeClient,
  ];
  await offload(home, continuum);
  const agents = ["site-1", "site-2"].map((name) => continuum.agent(name).process);
  return place("fjord", bed, home, far, agents);
}

/** Makes the namespace at the first site, whose pods go elsewhere. */
export async function offload(client: KubeClient, continuum: Continuum): Promise<void> {
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  const options = ["--pods=Remote", "--naming=Chosen", `--twin-name=${TWIN}`];
  await fjord(continuum.site("site-1"), "offload", NAMESPACE, ...options);
}

export function place(
  name: string,
  bed: Bed,
  client: KubeClient,
  far: KubeClient,
  agents: readonly ManagedProcess[],
): Place {
  const clients = [...new Set([client, far])];
  return {
    name,
    client,
    far,
    farNamespace: TWIN,
    agents,
    requests: new RequestCounter(clients),
    get processes() {
      return bed.processes;
    },
    async [Symbol.asyncDispose]() {
      for (const each of clients) await each.close();
      await bed.stop();
    },
  };
}

/** Processor seconds of each process so far, by site and name. */
export function usage({ processes }: Place): Map<string, number> {
  return new Map(
    processes.flatMap(({ name, pid, record }) =>
      pid === undefined ? [] : [[`${record.site} ${name}`, cpuSeconds(pid)]],
    ),
  );
}
