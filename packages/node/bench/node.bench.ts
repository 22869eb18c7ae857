// `npm run bench -- node`: Fjord's node against Kubernetes' kubelet, each with a containerd and a control plane of its own.
// FJORD_BENCH_PODS=20 chooses another number of pods than 100.
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Benchmark, buildProgram, type Measurement } from "@fjord/testbed/bench";
import { type Outcome, playScenario, type Subject } from "./pods/scenario.ts";

const RUNS = 3;
const SETTINGS =
  "etcd without fsync; kubelet as the test bed sets it up (200 pods at most, its defaults of 50 requests/s with bursts of 100), containerd 1.6 with runc; pods of one container, busybox with `sleep infinity`, bound to the node when made, with a token of their service account. API server, etcd, containerd and the benchmark share the machine's processors.";
const PROCESS = "The kubelet has no pods of plain processes: the baseline are its pods in containers.";
const MEMORY =
  "Resident size as /proc has it, files mapped included: of Fjord's node about 45 MB are pages of Node's program file, which other Node processes on the machine share. Nothing forces a collection of garbage. Processes beside the node (containerd, shims, carriers of logs) are in neither figure.";

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly runtime: Subject["runtime"];
  readonly of: (outcome: Outcome) => number;
  readonly expected?: Measurement["expected"];
  readonly notShown: string;
}

const noMore = { of: "ratio", atMost: 1 } as const;

function figures(pods: number): Figure[] {
  const byRuntime = (["cri", "process"] as const).flatMap((runtime): Figure[] => {
    const what = `${pods} ${runtime === "cri" ? "CRI" : "process"} pods`;
    const beside = runtime === "process" ? `${PROCESS} ` : "";
    return [
      {
        name: `${what} Ready`,
        unit: "s",
        runtime,
        of: ({ readySeconds }) => readySeconds,
        expected: noMore,
        notShown: `${beside}From the first create until the API shows all Ready; no image is pulled. ${SETTINGS}`,
      },
      {
        name: `resident memory with ${what}`,
        unit: "MB",
        runtime,
        of: ({ loadedBytes }) => loadedBytes / 1e6,
        expected: noMore,
        notShown: `${beside}15 s after all are Ready, the middle value of 30 s. ${MEMORY}`,
      },
      {
        name: `processor time of the node to start ${what}`,
        unit: "s",
        runtime,
        of: ({ startCpuSeconds }) => startCpuSeconds,
        notShown: `${beside}The node's process alone, without the runtime's and without those that it starts. ${SETTINGS}`,
      },
      {
        name: `processor use at rest with ${what}`,
        unit: "% of a core",
        runtime,
        of: ({ loadedCpuShare }) => loadedCpuShare * 100,
        notShown: `${beside}Over 30 s in which nothing happens to the pods, which have no probes. ${SETTINGS}`,
      },
    ];
  });
  const atRest: Figure = {
    name: "resident memory at rest",
    unit: "MB",
    runtime: "cri",
    of: ({ restBytes }) => restBytes / 1e6,
    expected: noMore,
    notShown: `20 s after the node is Ready, with one pod (CoreDNS). ${MEMORY}`,
  };
  return [atRest, ...byRuntime];
}

export const benchmark: Benchmark = {
  name: "node",
  description: "Fjord's node as it is shipped against Kubernetes' kubelet, on the same machine in turns",
  programs: ["control-plane", "nodes"],
  async run(session) {
    const pods = Number(process.env.FJORD_BENCH_PODS ?? 100);
    // Inside the package, so that the bundle finds its dependencies in node_modules.
    const directory = await mkdtemp(join(import.meta.dirname, "..", ".bench-"));
    try {
      const program = await buildProgram("node/src/cli.ts", directory);
      const progress = (text: string) => session.progress(text);
      const outcomes = new Map<string, Promise<Outcome>>();
      // Each is played once for each run; all figures of that run are of the same play.
      const play = (kubelet: Subject["kubelet"], runtime: Subject["runtime"], run: number) => {
        const key = `${kubelet}/${runtime}/${run}`;
        const subject = { kubelet, runtime, program };
        const known = outcomes.get(key) ?? playScenario({ subject, pods, signal: session.signal, progress });
        outcomes.set(key, known);
        return known;
      };
      for (const { runtime, of, ...figure } of figures(pods)) {
        let subjects = 0;
        let baselines = 0;
        await session.measure({
          ...figure,
          runs: RUNS,
          subject: async () => of(await play("fjord", runtime, subjects++)),
          baseline: {
            name: "Kubernetes' kubelet",
            measure: async () => of(await play("kubernetes", "cri", baselines++)),
          },
        });
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};
