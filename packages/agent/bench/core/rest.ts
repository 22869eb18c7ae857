import { setTimeout as pause } from "node:timers/promises";
import { type BenchmarkSession, cpuSeconds } from "@fjord/testbed/bench";
import type { Place } from "./place.ts";
import { SETTINGS } from "./settings.ts";

const REST_SECONDS = 20;

/** The agents when nobody asks for anything. */
export async function atRest(session: BenchmarkSession, far: Place): Promise<void> {
  await pause(5_000);
  const spent = () => far.agents.reduce((sum, { pid }) => sum + (pid === undefined ? 0 : cpuSeconds(pid)), 0);
  const before = spent();
  await pause(REST_SECONDS * 1_000);
  const share = ((spent() - before) / REST_SECONDS / far.agents.length) * 100;
  const bytes = Math.max(...far.agents.map(({ memory }) => memory));
  const notShown = `One peering, no pods, over ${REST_SECONDS} s.`;
  const common = { notShown, settings: SETTINGS, runs: 1 };
  const used = { name: "processor use of an agent at rest", unit: "% of a core" };
  await session.measure({ ...used, ...common, subject: async () => share });
  const resident = { name: "resident memory of an agent at rest", unit: "MB" };
  await session.measure({ ...resident, ...common, subject: async () => bytes / 1e6 });
}
