import { type BenchmarkSession, median } from "@fjord/testbed/bench";
import { type Place, vanilla } from "./place.ts";
import { SETTINGS } from "./settings.ts";
import { type BurstOutcome, playBurst } from "./workloads.ts";

const RUNS = 3;
const NOT_SHOWN =
  "Two plain clusters that know nothing of each other, with the same work at the same time, against one of them alone, in turn. They do twice the work, on the same processors: what of a border's ratio is that of two control planes, whoever joins them.";

/** What two control planes take on these processors without a border between them: a border is to be seen beside that. */
export async function twice(session: BenchmarkSession, plain: Place, nodes: number, replicas: number): Promise<void> {
  await using other = await vanilla(nodes);
  const burst = { deployments: 1, replicas };
  // The first ones open connections.
  await playBurst(other, { ...burst, replicas: 20 }, session.signal);
  const alone: BurstOutcome[] = [];
  const together: (readonly BurstOutcome[])[] = [];
  for (let run = 1; run <= RUNS; run++) {
    alone.push(await playBurst(plain, burst, session.signal));
    together.push(await Promise.all([plain, other].map((place) => playBurst(place, burst, session.signal))));
    session.progress(`two plain clusters at once: run ${run} of ${RUNS}`);
  }
  const last = (of: (outcome: BurstOutcome) => number) => together.map((each) => Math.max(...each.map(of)));
  const sum = (of: (outcome: BurstOutcome) => number) =>
    together.map((each) => each.reduce((total, outcome) => total + of(outcome), 0));
  const figures = [
    { name: "until all are Ready", of: ({ readySeconds }: BurstOutcome) => readySeconds, both: last },
    { name: "until all are gone", of: ({ goneSeconds }: BurstOutcome) => goneSeconds, both: last },
    { name: "processor time of all processes", of: ({ cpuSeconds }: BurstOutcome) => cpuSeconds, both: sum },
  ];
  for (const { name, of, both } of figures)
    await session.measure({
      name: `${replicas.toLocaleString("en")} pods in each of two plain clusters at once: ${name}`,
      unit: "s",
      subject: async () => median(both(of)),
      baseline: { name: "one plain cluster", measure: async () => median(alone.map(of)) },
      notShown: NOT_SHOWN,
      settings: SETTINGS,
      runs: 1,
    });
}
