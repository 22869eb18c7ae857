import { type BenchmarkSession, type Measurement, median, type OtherFigures } from "@fjord/testbed/bench";
import type { OthersInBurst } from "./others.ts";
import type { Place } from "./place.ts";
import { SETTINGS } from "./settings.ts";
import { type Burst, type BurstOutcome, playBurst } from "./workloads.ts";

export interface BothPlaces {
  readonly session: BenchmarkSession;
  readonly plain: Place;
  readonly far: Place;
}

export interface BurstPlan {
  readonly title: string;
  readonly burst: Burst;
  /** Of the plain cluster's time. */
  readonly readyAtMost: number;
  readonly goneAtMost: number;
  readonly runs?: number;
  readonly others?: OthersInBurst;
}

const BY_PROCESS = "Processor seconds of each process, from the first request until 3 s after the last pod was gone";

/** The same work in both places: how long until all is there and all is gone, and what it took. */
export async function bursts(
  both: BothPlaces,
  { title, burst, readyAtMost, goneAtMost, runs = 3, others = {} }: BurstPlan,
): Promise<void> {
  const { session } = both;
  const { ours, theirs } = await alternately(both, title, burst, runs);
  const notShown = runs === 1 ? "Once in each place." : `Median of ${runs} in each place, in turn.`;
  const measure = (
    name: string,
    unit: string,
    of: (outcome: BurstOutcome) => number,
    more: Pick<Measurement, "expected" | "parts" | "others">,
  ) =>
    session.measure({
      name: `${title}: ${name}`,
      unit,
      subject: async () => median(ours.map(of)),
      baseline: { name: "one plain cluster", measure: async () => median(theirs.map(of)) },
      ...more,
      notShown,
      settings: SETTINGS,
      runs: 1,
    });
  const within = (atMost: number, beside?: OtherFigures) => ({
    expected: { of: "ratio", atMost } as const,
    ...(beside && { others: beside }),
  });
  await measure("until all are Ready", "s", ({ readySeconds }) => readySeconds, within(readyAtMost, others.ready));
  await measure(
    "until all are gone on both sides",
    "s",
    ({ goneSeconds }) => goneSeconds,
    within(goneAtMost, others.gone),
  );
  await measure("processor time of all processes", "s", ({ cpuSeconds }) => cpuSeconds, {
    parts: () => byProcess(title, ours, theirs),
    ...(others.cpu && { others: others.cpu }),
  });
  await measure("requests for a pod's life", "requests", ({ requestsPerPod }) => requestsPerPod, {
    // Where a Deployment has one pod, most of what is asked is about the Deployment.
    ...(burst.replicas > 1 && { expected: { of: "value", atMost: 20 } }),
    ...(others.requests && { others: others.requests }),
  });
  await session.measure({
    name: `${title}: resident memory of the larger agent`,
    unit: "MB",
    subject: async () => Math.max(...ours.map(({ agentBytes }) => agentBytes)) / 1e6,
    // With ten peers and a thousand pods it is to be below that, and so it is to be with one.
    ...(burst.deployments * burst.replicas <= 1_000 && { expected: { of: "value", atMost: 90 } }),
    notShown:
      "When all pods are Ready, with one peer; files mapped are in it, of which 45 MB are Node's program, shared by both agents.",
    settings: SETTINGS,
    runs: 1,
  });
}

export async function alternately(
  { session, plain, far }: BothPlaces,
  title: string,
  burst: Burst,
  runs: number,
): Promise<{ ours: BurstOutcome[]; theirs: BurstOutcome[] }> {
  const ours: BurstOutcome[] = [];
  const theirs: BurstOutcome[] = [];
  for (let run = 1; run <= runs; run++) {
    const there = await playBurst(plain, burst, session.signal);
    const here = await playBurst(far, burst, session.signal);
    theirs.push(there);
    ours.push(here);
    const pair = (of: (outcome: BurstOutcome) => number, digits = 2) =>
      `${of(here).toFixed(digits)} (${of(there).toFixed(digits)})`;
    session.progress(
      `${title}: run ${run} of ${runs}, and plain: ready ${pair((o) => o.readySeconds)} s, each ${pair((o) => median(o.readyMs), 1)} ms, gone ${pair((o) => o.goneSeconds)} s, requests a pod ${pair((o) => o.requestsPerPod, 1)}`,
    );
  }
  return { ours, theirs };
}

/** Medians of the runs, for each process that took any time worth telling. */
function byProcess(column: string, ours: readonly BurstOutcome[], theirs: readonly BurstOutcome[]) {
  const values = (outcomes: readonly BurstOutcome[], nameOf: (process: string) => string) =>
    Object.keys(outcomes[0]?.cpuByProcess ?? {}).flatMap((process) => {
      const seconds = median(outcomes.map(({ cpuByProcess }) => cpuByProcess[process] ?? 0));
      return seconds < 0.05 ? [] : [[nameOf(process), Number(seconds.toFixed(1))] as const];
    });
  const place = (process: string) => process.replace(/^site-1 /, "home: ").replace(/^site-2 /, "away: ");
  return {
    table: BY_PROCESS,
    column,
    values: Object.fromEntries([
      ...values(theirs, (process) => process.replace(/^site-1 /, "plain: ")),
      ...values(ours, place),
    ]),
  };
}
