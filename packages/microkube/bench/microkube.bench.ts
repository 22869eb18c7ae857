// `npm run bench -- microkube`: a control plane in one process against kube-apiserver and etcd, and against all four
// programs of a control plane, with fsync on both and without on both.
// It takes about a quarter of an hour. FJORD_BENCH_SHORT=1 takes two minutes, with figures that only indicate. FJORD_BENCH_PODS=1000,10000, _GETS, _WATCHERS,
// _WATCHED_WRITES, _CROWD, _DEPLOYMENTS, _ROUNDS and _REST (seconds before memory is looked at) choose other sizes.
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Benchmark, type BenchmarkSession, type Bound, buildProgram } from "@fjord/testbed/bench";
import { type ApiWork, visit, visitByCrowd } from "./planes/api-visit.ts";
import { playDeployments } from "./planes/deployments.ts";
import { type Figure, Figures } from "./planes/figures.ts";
import { Plane, type PlaneOptions } from "./planes/plane.ts";
import { type Durability, readSettings, type Settings } from "./planes/settings.ts";

const SETTINGS =
  "Kubernetes 1.36 without priority and fairness, controller manager and scheduler at 500 requests/s; keys and certificates are there before. HTTP/1.1 over TLS, answers not compressed. Work begins when what follows a start is over. Load and servers share the machine's processors.";
const SYNCED = "With fsync every acknowledged write is on the disk; both sync once for writes that come together.";

const START: Bound = { of: "ratio", atMost: 0.2 };
const MEMORY: Bound = { of: "ratio", atMost: 0.333 };
const THROUGHPUT: Bound = { of: "ratio", atLeast: 1 };
const NO_LATER: Bound = { of: "ratio", atMost: 1 };

interface Run {
  readonly session: BenchmarkSession;
  readonly settings: Settings;
  readonly figures: Figures;
  readonly planes: readonly Plane[];
}

export const benchmark: Benchmark = {
  name: "microkube",
  description: "a control plane in one process against the programs of Kubernetes, on this machine",
  programs: ["control-plane"],
  async run(session) {
    const settings = readSettings(process.env);
    // Two levels below the package, as the sources are: there the bundle finds its data, and its dependencies above.
    const directory = await mkdtemp(join(import.meta.dirname, "..", ".bench-"));
    try {
      const programs = {
        microkube: await buildProgram("microkube/src/cli.ts", directory),
        node: await buildProgram("node/src/cli.ts", directory),
      };
      const common = { programs, directory };
      await compare(session, settings, { ...common, components: "apiserver" }, apiFigures, settings.durabilities);
      await compare(session, settings, { ...common, components: "all" }, wholeFigures, settings.wholeDurabilities);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function compare(
  session: BenchmarkSession,
  settings: Settings,
  options: Omit<PlaneOptions, "kind">,
  round: (run: Run, plane: Plane, durability: Durability, number: number) => Promise<void>,
  durabilities: readonly Durability[],
): Promise<void> {
  const against = options.components === "apiserver" ? "kube-apiserver and etcd" : "Kubernetes' control plane";
  session.progress(`preparing microkube and ${against}`);
  await using ours = await Plane.prepare({ ...options, kind: "microkube" });
  await using theirs = await Plane.prepare({ ...options, kind: "kubernetes" });
  const run: Run = { session, settings, figures: new Figures(), planes: [theirs, ours] };
  for (const durability of durabilities) {
    for (let number = 1; number <= settings.rounds; number++) {
      for (const plane of run.planes) {
        session.signal.throwIfAborted();
        session.progress(`${plane.isMicrokube ? "microkube" : against} ${durability}: round ${number}`);
        await round(run, plane, durability, number);
        await plane.stop();
      }
    }
    await run.figures.record(session, against);
  }
}

/** The API and its store alone. */
async function apiFigures(run: Run, plane: Plane, durability: Durability, number: number): Promise<void> {
  const { session, settings, figures } = run;
  const ours = plane.isMicrokube;
  const tell = (figure: Figure, value: number, usage?: ReadonlyMap<string, number>) => {
    session.progress(`  ${figure.name}: ${value.toPrecision(4)} ${figure.unit}`);
    figures.add(figure, ours, value, usage);
  };
  const seconds = await plane.startEmpty(durability);
  tell(startFigure(`API, ${durability}: start until ready`, "until /readyz answers"), seconds, plane.usage());
  const { signal } = session;
  if (restsIn(durability, number)) {
    const rested = (pods: number, bytes: number) => tell(memoryFigure("API", pods), bytes / 1e6);
    await visit({ plane, settings, signal, rested });
    await plane.startEmpty(durability);
    const { bytesEach, eventsPerSecond, usage } = await visitByCrowd({ plane, settings, signal });
    const crowd = settings.crowd.toLocaleString("en");
    tell(crowdMemoryFigure(crowd), bytesEach / 1e3);
    tell(crowdFigure(crowd, settings), eventsPerSecond, usage);
    await plane.startEmpty(durability);
  }
  const worked = (work: ApiWork) => tell(workFigure(work, settings, durability), work.perSecond, work.usage);
  await visit({ plane, settings, signal, worked });
}

/** Memory depends little on syncing, and takes long to be looked at. */
function restsIn(durability: Durability, round: number): boolean {
  return durability === "without fsync" && round === 1;
}

/** With controllers and scheduler. */
async function wholeFigures(run: Run, plane: Plane, durability: Durability, number: number): Promise<void> {
  const { session, settings, figures } = run;
  const { signal } = session;
  const ours = plane.isMicrokube;
  const title = `control plane, ${durability}`;
  const tell = (figure: Figure, value: number, usage?: ReadonlyMap<string, number>) => {
    session.progress(`  ${figure.name}: ${value.toPrecision(4)} ${figure.unit}`);
    figures.add(figure, ours, value, usage);
  };
  const until = "until /readyz answers and a controller has made the first service account";
  tell(startFigure(`${title}: start until ready`, until), await plane.startEmpty(durability), plane.usage());
  if (restsIn(durability, number)) {
    const rested = (pods: number, bytes: number) => tell(memoryFigure("control plane", pods), bytes / 1e6);
    await visit({ plane, settings, signal, rested });
    await plane.startEmpty(durability);
  }
  const outcomes = await playDeployments(plane, settings.deployments, signal);
  for (const [index, { readySeconds, usage }] of outcomes.entries()) {
    const when = index === 0 ? "just started" : "again, when those are gone";
    const name = `${title}, ${when}: ${settings.deployments} Deployments of 3 pods, until all are ready`;
    const notShown = `From the first request, all at once, until the status of each says so; 10 nodes, which one process simulates, the same beside both. ${SYNCED} ${SETTINGS}`;
    tell({ name, unit: "s", expected: NO_LATER, notShown }, readySeconds, usage);
    const total = [...usage.values()].reduce((sum, each) => sum + each, 0);
    tell(
      {
        name: `${name}: processor time`,
        unit: "s",
        notShown: `Of all processes, the simulated nodes' too. ${SETTINGS}`,
      },
      total,
    );
  }
}

function startFigure(name: string, until: string): Figure {
  const notShown = `With an empty store, from the start of the first process ${until}, looked at every 50 ms. etcd is waited for before the API server starts, which would else look for it once a second. Files are in the page cache. ${SETTINGS}`;
  return { name, unit: "s", expected: START, notShown };
}

function memoryFigure(title: string, pods: number): Figure {
  const what = pods === 0 ? "empty" : `with ${pods.toLocaleString("en")} pods`;
  const notShown = `VmRSS of all processes together, the least of some seconds after a rest, straight after the pods were created and listed once; at work both take more. Files mapped are in it: about 45 MB of microkube's are Node's program, which other Node processes share. Pods without the status that a kubelet writes. ${SETTINGS}`;
  return { name: `${title}: resident memory, ${what}`, unit: "MB", expected: MEMORY, notShown };
}

function crowdMemoryFigure(crowd: string): Figure {
  const notShown = `VmRSS of all processes with ${crowd} watches of one namespace, each on a connection of its own, less that before, divided by them. ${SETTINGS}`;
  return { name: `API: resident memory for each of ${crowd} watchers`, unit: "kB", notShown };
}

function crowdFigure(crowd: string, { crowdWrites }: Settings): Figure {
  const notShown = `From the first of ${crowdWrites} creates, one at a time, until every watcher has all of them. ${SETTINGS}`;
  return { name: `API: events to ${crowd} watchers`, unit: "events/s", expected: THROUGHPUT, notShown };
}

function workFigure({ what, pods }: ApiWork, settings: Settings, durability: Durability): Figure {
  const count = pods.toLocaleString("en");
  const before = settings.pods[settings.pods.indexOf(pods) - 1];
  const descriptions = {
    create: {
      name: before === undefined ? `creates, the first ${count} pods` : `creates, on to ${count} pods`,
      unit: "pods/s",
      notShown: `32 under way. The first ones meet code that was never run. ${SYNCED}`,
    },
    get: {
      name: "gets",
      unit: "requests/s",
      notShown: `${settings.gets.toLocaleString("en")} of single pods among ${count}, 32 under way.`,
    },
    list: {
      name: `lists of ${count} pods`,
      unit: "lists/s",
      notShown: "All pods in one answer, of the newest revision, managedFields included; 4 under way.",
    },
    watch: {
      name: `events to ${settings.watchers.toLocaleString("en")} watchers`,
      unit: "events/s",
      notShown: `From the first of ${settings.watchedWrites} creates, 8 under way, until every watcher has all of them. Each watcher has a connection of its own.`,
    },
  };
  const { name, unit, notShown } = descriptions[what];
  return { name: `API, ${durability}: ${name}`, unit, expected: THROUGHPUT, notShown: `${notShown} ${SETTINGS}` };
}
