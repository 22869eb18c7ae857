import { median } from "@fjord/testbed/bench";
import { alternately, type BothPlaces } from "./bursts.ts";
import { others } from "./others.ts";
import { SETTINGS } from "./settings.ts";
import { type Burst, type BurstOutcome, playBurst } from "./workloads.ts";

/** One Deployment a second: what one user notices. */
export async function steady(both: BothPlaces): Promise<void> {
  const { session, plain, far } = both;
  const burst: Burst = { deployments: 20, replicas: 1, perSecond: 1 };
  // The first ones open connections and compile code.
  for (const place of [plain, far]) await playBurst(place, { ...burst, deployments: 5 }, session.signal);
  const { ours, theirs } = await alternately(both, "one Deployment a second", burst, 3);
  const figures = [
    {
      name: "scheduled",
      of: ({ scheduledMs }: BurstOutcome) => median(scheduledMs),
      more: 4,
      theirs: others.scheduled,
    },
    {
      name: "Ready, as the consumer sees it",
      of: ({ readyMs }: BurstOutcome) => median(readyMs),
      more: 20,
      theirs: others.ready,
    },
  ];
  for (const { name, of, more, theirs: beside } of figures) {
    const [value, baseline] = [median(ours.map(of)), median(theirs.map(of))];
    await session.measure({
      name: `one Deployment a second: request to ${name}, beyond a plain cluster's`,
      unit: "ms",
      subject: async () => value - baseline,
      expected: { of: "value", atMost: more },
      notShown: `Medians of 3 times 20: ${value.toFixed(1)} ms over the border, ${baseline.toFixed(1)} ms on the plain cluster.`,
      settings: SETTINGS,
      others: beside,
      runs: 1,
    });
  }
}
