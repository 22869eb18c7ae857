// `npm run bench -- core`: the same work over a border and on one plain cluster, in one run.
// FJORD_BENCH_PARTS=rest,steady,rate,once,pods,twice,peers,memory chooses parts; FJORD_BENCH_PODS=1000,10000 the sizes of the
// large Deployments; FJORD_BENCH_PEERS=32 how many peers there are.
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Benchmark, BenchmarkSession } from "@fjord/testbed/bench";
import { buildRelease } from "@fjord/testbed/release";
import { bursts } from "./core/bursts.ts";
import { manyPeers } from "./core/many-peers.ts";
import { others } from "./core/others.ts";
import { peeringTimes } from "./core/peering-times.ts";
import { border, vanilla } from "./core/place.ts";
import { atRest } from "./core/rest.ts";
import { steady } from "./core/steady.ts";
import { twice } from "./core/twice.ts";

const PARTS = ["rest", "steady", "rate", "once", "pods", "twice", "peers", "memory"] as const;
type Part = (typeof PARTS)[number];

export const benchmark: Benchmark = {
  name: "core",
  description: "Deployments whose pods run at another site, against the same on one plain cluster",
  programs: ["control-plane", "kwok"],
  async run(session) {
    const parts = chosenParts();
    const directory = await mkdtemp(join(import.meta.dirname, "..", ".bench-"));
    try {
      // What is shipped, and nothing else: how it is bundled makes a difference of megabytes.
      await buildRelease(join(import.meta.dirname, "..", "..", ".."), directory, ["fjord-agent"]);
      const program = join(directory, "fjord-agent.mjs");
      if (parts.some((part) => part !== "peers" && part !== "memory")) await compare(session, program, parts);
      if (parts.includes("peers")) await peeringTimes(session, program);
      if (parts.includes("memory")) await manyPeers(session, program);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

function chosenParts(): readonly Part[] {
  const asked = process.env.FJORD_BENCH_PARTS?.split(",") ?? PARTS;
  const unknown = asked.filter((part) => !PARTS.some((known) => known === part));
  if (unknown.length > 0) throw new Error(`FJORD_BENCH_PARTS: ${unknown.join(", ")} is none of ${PARTS.join(", ")}`);
  return PARTS.filter((part) => asked.includes(part));
}

async function compare(session: BenchmarkSession, program: string, parts: readonly Part[]): Promise<void> {
  const asked = (process.env.FJORD_BENCH_PODS ?? "1000,10000").split(",").map(Number);
  const sizes = parts.includes("pods") ? asked : [];
  const smallest = parts.includes("twice") ? Math.min(...asked) : 0;
  const nodes = Math.ceil((Math.max(100, smallest, ...sizes) * 1.2) / 110) + 1;
  session.progress(`starting three control planes and ${nodes} simulated nodes for each side`);
  await using plain = await vanilla(nodes);
  await using far = await border(nodes, program);
  const both = { session, plain, far };
  if (parts.includes("rest")) await atRest(session, far);
  if (parts.includes("steady")) await steady(both);
  const hundred = { deployments: 100, replicas: 1 };
  if (parts.includes("rate")) {
    const burst = { ...hundred, perSecond: 10 };
    await bursts(both, { title: "100 Deployments at ten a second", burst, readyAtMost: 1.1, goneAtMost: 1.6 });
  }
  if (parts.includes("once"))
    await bursts(both, {
      title: "100 Deployments at once",
      burst: hundred,
      readyAtMost: 1.6,
      goneAtMost: 1.6,
      others: others.once,
    });
  for (const replicas of sizes) {
    // No less than 0.6 of the plain cluster's rate.
    const atMost = { readyAtMost: 1.67, goneAtMost: 1.67, ...(replicas === 1_000 && { others: others.thousand }) };
    const title = `${replicas.toLocaleString("en")} pods in one Deployment`;
    await bursts(both, { title, burst: { deployments: 1, replicas }, ...atMost, runs: replicas > 2_000 ? 1 : 3 });
  }
  if (parts.includes("twice")) await twice(session, plain, nodes, smallest);
}
