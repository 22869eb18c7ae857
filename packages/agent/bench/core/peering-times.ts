import { newObject, Peering, VirtualNode } from "@fjord/api";
import { getCondition, KubeClient } from "@fjord/kube";
import { Continuum, fjord } from "@fjord/testbed/agents";
import type { BenchmarkSession } from "@fjord/testbed/bench";
import { median } from "@fjord/testbed/bench";
import { startTestBed } from "@fjord/testbed/testing";

/** From the wish to a Ready virtual node, with ever more peers that came before. FJORD_BENCH_PEERS=32 for more of them. */
export async function peeringTimes(session: BenchmarkSession, program: string): Promise<void> {
  const peers = Number(process.env.FJORD_BENCH_PEERS ?? 4);
  session.progress(`starting ${peers + 1} sites without nodes`);
  const bed = await startTestBed({ sites: peers + 1, components: "apiserver" });
  await using continuum = new Continuum(bed);
  await continuum.startAgents({ program });
  await using client = new KubeClient(continuum.site("site-1").config);
  const seconds: number[] = [];
  for (let peer = 1; peer <= peers; peer++) {
    const provider = `site-${peer + 1}`;
    await continuum.share(provider);
    await fjord(continuum.site("site-1"), "pair", await continuum.token(provider, "site-1"));
    seconds.push(await peeringTime(client, provider, session.signal));
    session.progress(`peer ${peer} of ${peers}: ${seconds.at(-1)?.toFixed(3)} s`);
  }
  const notShown =
    "From the Peering's creation until the virtual node is Ready, the two being paired already; sites have an API server alone, on the same machine.";
  await session.measure({
    name: `peering, median of ${peers} peers one after the other`,
    unit: "s",
    subject: async () => median(seconds),
    expected: { of: "value", atMost: 1 },
    notShown,
    runs: 1,
  });
  await session.measure({
    name: `resident memory of the consumer's agent with ${peers} peers`,
    unit: "MB",
    subject: async () => continuum.agent("site-1").process.memory / 1e6,
    expected: { of: "value", atMost: 90 },
    notShown: "Without pods, right after the last peering.",
    runs: 1,
  });
}

async function peeringTime(client: KubeClient, provider: string, signal: AbortSignal): Promise<number> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(60_000)]);
  const began = performance.now();
  const spec = { site: provider, resources: { cpu: "4", memory: "8Gi", pods: "110" } };
  await client.create(Peering, newObject(Peering, { metadata: { name: provider }, spec }));
  const scope = {
    fieldSelector: `metadata.name=${provider}`,
    sendInitialEvents: true,
    resourceVersionMatch: "NotOlderThan",
    signal: limit,
  } as const;
  for await (const event of client.watch(VirtualNode, scope)) {
    if (event.type === "BOOKMARK" || event.type === "DELETED") continue;
    if (getCondition(event.object.status?.conditions, "Ready")?.status === "True") break;
  }
  return (performance.now() - began) / 1000;
}
