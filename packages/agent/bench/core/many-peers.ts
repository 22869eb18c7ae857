import { setTimeout as pause } from "node:timers/promises";
import { KubeClient } from "@fjord/kube";
import { Continuum, fjord } from "@fjord/testbed/agents";
import type { BenchmarkSession } from "@fjord/testbed/bench";
import { startTestBed } from "@fjord/testbed/testing";
import { others } from "./others.ts";
import { directToken, EVERYTHING, offload, place } from "./place.ts";
import { playBurst } from "./workloads.ts";

const PEERS = 10;
const PODS = 1_000;
const NODES = 4;
const REST_MS = 20_000;

/** The consumer's agent with many peers, and its pods spread over all of them. */
export async function manyPeers(session: BenchmarkSession, program: string): Promise<void> {
  const providers = Array.from({ length: PEERS }, (_, index) => `site-${index + 2}`);
  session.progress(`starting ${PEERS} providers of ${NODES} simulated nodes, and their consumer`);
  const bed = await startTestBed({
    sites: ["site-1", ...providers],
    kubernetes: ["1.36", ...providers.map(() => "microkube" as const)],
    components: "all",
    simulatedNodes: NODES,
    simulatedSites: providers,
    timeout: 300_000,
  });
  const continuum = new Continuum(bed);
  await continuum.startAgents({ program, timeout: 300_000 });
  for (const provider of providers) {
    await continuum.share(provider);
    await fjord(continuum.site("site-1"), "peer", await directToken(continuum, provider), ...EVERYTHING);
  }
  const client = new KubeClient(continuum.site("site-1").config);
  await offload(client, continuum);
  const agents = ["site-1"].map((name) => continuum.agent(name).process);
  await using here = place("many peers", bed, client, client, agents);
  const consumer = continuum.agent("site-1").process;
  await pause(REST_MS);
  const notShown = `${PEERS} providers that are microkube with ${NODES} simulated nodes each, of which the consumer offloads a namespace to all; files mapped are in it, of which 45 MB are Node's program.`;
  const resident = (name: string, bytes: number, beside = {}) =>
    session.measure({
      name: `resident memory of the consumer's agent: ${name}`,
      unit: "MB",
      subject: async () => bytes / 1e6,
      expected: { of: "value", atMost: 90 },
      notShown,
      ...beside,
      runs: 1,
    });
  await resident(`${PEERS} peers at rest`, consumer.memory, { others: others.memory });
  let calm = 0;
  const { agentBytes } = await playBurst(here, { deployments: 1, replicas: PODS }, session.signal, async () => {
    await pause(REST_MS);
    calm = consumer.memory;
  });
  await resident(`${PEERS} peers and ${PODS.toLocaleString("en")} pods, when the last is Ready`, agentBytes);
  await resident(`${PEERS} peers and ${PODS.toLocaleString("en")} pods, ${REST_MS / 1_000} s later`, calm);
}
