// `npm run bench -- core`: the same work over a border and on one plain cluster, in one run.
// FJORD_BENCH_PODS=1000,10000 chooses the sizes of the large Deployments.
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Benchmark, type BenchmarkSession, buildProgram, median } from "@fjord/testbed/bench";
import { peeringTimes } from "./core/peering-times.ts";
import { border, type Place, vanilla } from "./core/place.ts";
import { type Burst, type BurstOutcome, playBurst } from "./core/workloads.ts";

const SETTINGS =
  "Real control planes with nodes that kwok simulates; etcd without fsync, API servers without priority and fairness, controller managers and schedulers at 500 requests/s. All of it, the benchmark too, shares the machine's processors; over the border two API servers share them.";

export const benchmark: Benchmark = {
  name: "core",
  description: "Deployments whose pods run at another site, against the same on one plain cluster",
  programs: ["control-plane", "kwok"],
  async run(session) {
    // Inside the package, so that the bundle finds its dependencies in node_modules.
    const directory = await mkdtemp(join(import.meta.dirname, "..", ".bench-"));
    try {
      const program = await buildProgram("agent/src/cli.ts", directory);
      await compare(session, program);
      await peeringTimes(session, program);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function compare(session: BenchmarkSession, program: string): Promise<void> {
  const sizes = (process.env.FJORD_BENCH_PODS ?? "1000").split(",").map(Number);
  const nodes = Math.ceil((Math.max(...sizes) * 1.2) / 110) + 1;
  session.progress(`starting three control planes and ${nodes} simulated nodes for each side`);
  await using plain = await vanilla(nodes);
  await using far = await border(nodes, program);
  await idle(session, far);
  await steady(session, plain, far);
  await bursts(
    session,
    plain,
    far,
    "100 Deployments at ten a second",
    { deployments: 100, replicas: 1, perSecond: 10 },
    1.1,
    1.6,
  );
  await bursts(session, plain, far, "100 Deployments at once", { deployments: 100, replicas: 1 }, 1.6, 1.6);
  for (const replicas of sizes) {
    const name = `${replicas.toLocaleString("en")} pods in one Deployment`;
    await bursts(
      session,
      plain,
      far,
      name,
      { deployments: 1, replicas },
      1 / 0.6,
      1 / 0.6,
      replicas > 2_000 ? 1 : undefined,
    );
  }
}

/** The agents when nobody asks for anything. */
async function idle(session: BenchmarkSession, far: Place): Promise<void> {
  const { setTimeout: pause } = await import("node:timers/promises");
  const { cpuSeconds } = await import("@fjord/testbed/bench");
  await pause(5_000);
  const spent = () => far.agents.reduce((sum, { pid }) => sum + (pid === undefined ? 0 : cpuSeconds(pid)), 0);
  const before = spent();
  await pause(20_000);
  const share = ((spent() - before) / 20 / far.agents.length) * 100;
  const notShown = `One peering, no pods, over 20 s. ${SETTINGS}`;
  await session.measure({
    name: "processor use of an agent at rest",
    unit: "% of a core",
    subject: async () => share,
    notShown,
    runs: 1,
  });
  const bytes = Math.max(...far.agents.map(({ memory }) => memory)) / 1e6;
  await session.measure({
    name: "resident memory of an agent at rest",
    unit: "MB",
    subject: async () => bytes,
    notShown,
    runs: 1,
  });
}

/** One Deployment a second: what one user notices. */
async function steady(session: BenchmarkSession, plain: Place, far: Place): Promise<void> {
  const burst: Burst = { deployments: 20, replicas: 1, perSecond: 1 };
  // The first ones open connections and compile code.
  for (const place of [plain, far]) await playBurst(place, { ...burst, deployments: 5 }, session.signal);
  const { ours, theirs } = await alternately(session, "one Deployment a second", plain, far, burst, 3);
  const figures = [
    { name: "scheduled", of: ({ scheduledMs }: BurstOutcome) => median(scheduledMs), more: 4 },
    { name: "Ready, as the consumer sees it", of: ({ readyMs }: BurstOutcome) => median(readyMs), more: 20 },
  ];
  for (const { name, of, more } of figures) {
    const [value, baseline] = [median(ours.map(of)), median(theirs.map(of))];
    await session.measure({
      name: `one Deployment a second: request to ${name}, beyond a plain cluster's`,
      unit: "ms",
      subject: async () => value - baseline,
      expected: { of: "value", atMost: more },
      notShown: `Medians: ${value.toFixed(1)} ms over the border, ${baseline.toFixed(1)} ms on the plain cluster. ${SETTINGS}`,
      runs: 1,
    });
  }
}

async function bursts(
  session: BenchmarkSession,
  plain: Place,
  far: Place,
  title: string,
  burst: Burst,
  readyAtMost: number,
  goneAtMost: number,
  runs = 3,
): Promise<void> {
  const { ours, theirs } = await alternately(session, title, plain, far, burst, runs);
  const figures = [
    { name: "until all are Ready", unit: "s", of: (o: BurstOutcome) => o.readySeconds, atMost: readyAtMost },
    { name: "until all are gone on both sides", unit: "s", of: (o: BurstOutcome) => o.goneSeconds, atMost: goneAtMost },
    { name: "processor time of all processes", unit: "s", of: (o: BurstOutcome) => o.cpuSeconds },
    { name: "requests for a pod's life", unit: "requests", of: (o: BurstOutcome) => o.requestsPerPod },
  ];
  const spent = describeUsage(ours.at(-1));
  for (const { name, unit, of, atMost } of figures) {
    await session.measure({
      name: `${title}: ${name}`,
      unit,
      subject: async () => median(ours.map(of)),
      baseline: { name: "one plain cluster", measure: async () => median(theirs.map(of)) },
      ...(atMost !== undefined && { expected: { of: "ratio", atMost: Number(atMost.toFixed(2)) } }),
      ...(name.startsWith("requests") && burst.replicas > 1 && { expected: { of: "value", atMost: 20 } }),
      notShown: `Median of ${runs} in turn. Processor seconds over the border: ${spent}. ${SETTINGS}`,
      runs: 1,
    });
  }
  await session.measure({
    name: `${title}: resident memory of the larger agent`,
    unit: "MB",
    subject: async () => Math.max(...ours.map(({ agentBytes }) => agentBytes)) / 1e6,
    expected: { of: "value", atMost: 90 },
    notShown: `When all pods are Ready, with one peer; files mapped are in it, of which 45 MB are Node's program, shared by both agents. ${SETTINGS}`,
    runs: 1,
  });
}

async function alternately(
  session: BenchmarkSession,
  title: string,
  plain: Place,
  far: Place,
  burst: Burst,
  runs: number,
): Promise<{ ours: BurstOutcome[]; theirs: BurstOutcome[] }> {
  const ours: BurstOutcome[] = [];
  const theirs: BurstOutcome[] = [];
  for (let run = 1; run <= runs; run++) {
    theirs.push(await playBurst(plain, burst, session.signal));
    ours.push(await playBurst(far, burst, session.signal));
    const [a, b] = [ours.at(-1) as BurstOutcome, theirs.at(-1) as BurstOutcome];
    session.progress(
      `${title}: run ${run} of ${runs}: ready ${a.readySeconds.toFixed(2)} s (plain: ${b.readySeconds.toFixed(2)}), gone ${a.goneSeconds.toFixed(2)} (${b.goneSeconds.toFixed(2)}), requests a pod ${a.requestsPerPod.toFixed(1)} (${b.requestsPerPod.toFixed(1)})`,
    );
  }
  return { ours, theirs };
}

function describeUsage(outcome: BurstOutcome | undefined): string {
  return Object.entries(outcome?.cpuByProcess ?? {})
    .filter(([, seconds]) => seconds >= 0.05)
    .map(([name, seconds]) => `${name} ${seconds.toFixed(1)}`)
    .join(", ");
}
