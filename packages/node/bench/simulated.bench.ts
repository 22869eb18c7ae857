// `npm run bench -- simulated`: a fleet of simulated nodes against kwok, on the same control plane with the same settings.
// FJORD_BENCH_SIZES=250:12500,500:25000,1000:50000 chooses other sizes (nodes:pods) than the default ones.
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Benchmark, BenchmarkSession } from "@fjord/testbed/bench";
import { buildProgram } from "@fjord/testbed/bench";
import { type Outcome, playScenario, type Size } from "./simulated/scenario.ts";
import { fjordFleet, kwok, type Simulator } from "./simulated/simulators.ts";

const DEFAULT_SIZES = "100:5000,200:10000,400:20000";
const SETTINGS =
  "etcd without fsync, API server without priority and fairness, controller manager and scheduler at 500 requests/s with bursts of 1,000; both simulators with 24 requests under way and leases of 40 s. Everything, the creator of the pods too, shares the machine's processors.";

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly of: (outcome: Outcome) => number;
  readonly notShown: string;
}

const figures: readonly Figure[] = [
  {
    name: "nodes registered",
    unit: "nodes/s",
    of: ({ nodes, registerSeconds }) => nodes / registerSeconds,
    notShown: `From the word to have them until all are Ready; a fleet makes its Nodes itself, kwok's are made by the benchmark with 32 requests under way. ${SETTINGS}`,
  },
  {
    name: "pods brought to Running",
    unit: "pods/s",
    of: ({ pods, runSeconds }) => pods / runSeconds,
    notShown: `From the first create until none is Pending. Pods are created bound to their nodes: no scheduler is measured. The API server sets the pace for both. ${SETTINGS}`,
  },
  {
    name: "pods deleted",
    unit: "pods/s",
    of: ({ deleted, deleteSeconds }) => deleted / deleteSeconds,
    notShown: `The first 10,000 of them, or all where there are fewer, with the others running: from the first delete, one by one with 32 under way, until none of these is left. Both end a pod with one request; neither simulates a grace period here. ${SETTINGS}`,
  },
  {
    name: "processor time of the simulator for a pod's life",
    unit: "ms",
    of: (outcome) => (lifeCpuSeconds(outcome) * 1000) / outcome.pods,
    notShown: `Of all its threads while pods are created and run, and while they are deleted, as far as they are; signs of life of the nodes meanwhile included, the rest between not. ${SETTINGS}`,
  },
  {
    name: "processor use of the simulator at rest",
    unit: "% of a core",
    of: ({ restCpuShare }) => restCpuShare * 100,
    notShown: `Over 20 s with all pods Running: leases and whatever else goes on. ${SETTINGS}`,
  },
  {
    name: "resident memory of the simulator at rest",
    unit: "MB",
    of: ({ residentBytes }) => residentBytes / 1e6,
    notShown: `The least of 20 s, from 12 s after all pods run. Files mapped are in it: of Fjord's about 45 MB are Node's program file, which other Node processes on the machine share; with few pods it is behind kwok for that reason. Fjord collects its garbage once when work has come to rest, kwok as Go does; at work both take more. ${SETTINGS}`,
  },
];

export const benchmark: Benchmark = {
  name: "simulated",
  description: "a fleet of simulated nodes against kwok, on one real control plane",
  programs: ["control-plane", "kwok"],
  async run(session) {
    // Inside the package, so that the bundle finds its dependencies in node_modules.
    const directory = await mkdtemp(join(import.meta.dirname, "..", ".bench-"));
    try {
      const program = await buildProgram("node/src/cli.ts", directory);
      const ours: Outcome[] = [];
      const theirs: Outcome[] = [];
      for (const size of readSizes(process.env.FJORD_BENCH_SIZES ?? DEFAULT_SIZES)) {
        ours.push(await play(session, fjordFleet(program, directory), size));
        theirs.push(await play(session, kwok(directory), size));
        for (const figure of figures) await record(session, figure, size, ours.at(-1), theirs.at(-1));
      }
      if (ours.length > 1) await recordSlopes(session, ours, theirs);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function play(session: BenchmarkSession, simulator: Simulator, size: Size): Promise<Outcome> {
  session.progress(`${simulator.name}: ${size.nodes} nodes, ${size.pods} pods`);
  return playScenario({ simulator, size, signal: session.signal, progress: (text) => session.progress(text) });
}

async function record(
  session: BenchmarkSession,
  { name, unit, of, notShown }: Figure,
  { nodes, pods }: Size,
  ours: Outcome | undefined,
  theirs: Outcome | undefined,
): Promise<void> {
  const value = async (outcome: Outcome | undefined) => (outcome === undefined ? Number.NaN : of(outcome));
  await session.measure({
    name: `${name}, ${nodes.toLocaleString("en")} nodes with ${pods.toLocaleString("en")} pods`,
    unit,
    subject: () => value(ours),
    baseline: { name: "kwok 0.8.0", measure: () => value(theirs) },
    notShown,
    runs: 1,
  });
}

/** Of all pods, had all been deleted. */
function lifeCpuSeconds({ pods, deleted, runCpuSeconds, deleteCpuSeconds }: Outcome): number {
  return runCpuSeconds + (deleteCpuSeconds * pods) / deleted;
}

/** What one more pod costs, between the smallest and the largest size. */
async function recordSlopes(session: BenchmarkSession, ours: Outcome[], theirs: Outcome[]): Promise<void> {
  const slope = (outcomes: Outcome[], of: (outcome: Outcome) => number) => async () => {
    const [first, last] = [outcomes[0] as Outcome, outcomes.at(-1) as Outcome];
    return (of(last) - of(first)) / (last.pods - first.pods);
  };
  const slopes = [
    {
      name: "memory for one more pod, with its share of a node",
      unit: "KB",
      of: (o: Outcome) => o.residentBytes / 1e3,
    },
    { name: "time for one more pod to run", unit: "ms", of: (o: Outcome) => o.runSeconds * 1e3 },
    { name: "processor time for the life of one more pod", unit: "ms", of: (o: Outcome) => lifeCpuSeconds(o) * 1e3 },
  ];
  for (const { name, unit, of } of slopes) {
    await session.measure({
      name,
      unit,
      subject: slope(ours, of),
      baseline: { name: "kwok 0.8.0", measure: slope(theirs, of) },
      notShown:
        "The slope between the smallest and the largest size of this run, each measured once: what grows faster or slower in between does not show.",
      runs: 1,
    });
  }
}

function readSizes(text: string): Size[] {
  return text.split(",").map((each) => {
    const [nodes, pods] = each.split(":").map(Number);
    if (!nodes || !pods) throw new Error(`FJORD_BENCH_SIZES: ${each} is not NODES:PODS`);
    return { nodes, pods };
  });
}
