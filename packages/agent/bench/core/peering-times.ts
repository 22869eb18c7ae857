import { newObject, Peering, VirtualNode } from "@fjord/api";
import { getCondition, KubeClient } from "@fjord/kube";
import { Continuum, fjord } from "@fjord/testbed/agents";
import type { BenchmarkSession } from "@fjord/testbed/bench";
import { median } from "@fjord/testbed/bench";
import { startTestBed } from "@fjord/testbed/testing";
import { others } from "./others.ts";
import { directToken } from "./place.ts";

/** From the wish to a Ready virtual node, with ever more peers that came before. FJORD_BENCH_PEERS says how many. */
export async function peeringTimes(session: BenchmarkSession, program: string): Promise<void> {
  const peers = Number(process.env.FJORD_BENCH_PEERS ?? 32);
  session.progress(`starting ${peers + 1} sites without nodes`);
  const bed = await startTestBed({ sites: peers + 1, components: "apiserver", timeout: 600_000 });
  await using continuum = new Continuum(bed);
  await continuum.startAgents({ program, timeout: 600_000 });
  await using client = new KubeClient(continuum.site("site-1").config);
  const consumer = continuum.agent("site-1").process;
  const seconds: number[] = [];
  const resident = new Map<number, number>();
  for (let peer = 1; peer <= peers; peer++) {
    const provider = `site-${peer + 1}`;
    await continuum.share(provider);
    await fjord(continuum.site("site-1"), "pair", await directToken(continuum, provider));
    seconds.push(await peeringTime(client, provider, session.signal));
    resident.set(peer, consumer.memory / 1e6);
    session.progress(`peer ${peer} of ${peers}: ${seconds.at(-1)?.toFixed(3)} s`);
  }
  const from =
    "From the Peering's creation until the virtual node is Ready, the two being paired already; sites have an API server alone, all on the same machine.";
  const time = (name: string, values: readonly number[]) =>
    session.measure({
      name: `peering: ${name}`,
      unit: "s",
      subject: async () => median(values),
      expected: { of: "value", atMost: 1 },
      notShown: from,
      ...(values === seconds && { others: others.peering }),
      runs: 1,
    });
  await time(`median of ${peers} peers one after the other`, seconds);
  await time(`the slowest of ${peers}`, [Math.max(...seconds)]);
  for (const count of [1, 10, peers].filter((each, index, all) => each <= peers && all.indexOf(each) === index)) {
    await session.measure({
      name: `resident memory of the consumer's agent with ${count} ${count === 1 ? "peer" : "peers"}`,
      unit: "MB",
      subject: async () => resident.get(count) ?? Number.NaN,
      ...(count <= 10 && { expected: { of: "value", atMost: 90 } }),
      notShown: "Without pods, right after the peering.",
      runs: 1,
    });
  }
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
