import { sleep, systemClock } from "@fjord/base";
import { isQuestion, type Step } from "./chapter.ts";
import type { Shell } from "./test-shell.ts";

/** How long two sites have to come to say the same: Kubernetes looks at a new autoscaler after a quarter of a minute. */
const PATIENCE_MS = 30_000;

/** What each of two users who type the same sees, where they do not see the same. */
export interface Difference {
  readonly command: string;
  readonly wanted: string;
  readonly seen: string;
}

/** Types each step at both sites, and tells where they differ. Questions are asked again while they do. */
export async function compareSessions(steps: readonly Step[], real: Shell, ours: Shell): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const step of steps) {
    const end = systemClock.now() + PATIENCE_MS;
    let answers = await typed(step, real, ours);
    while (answers[0] !== answers[1] && isQuestion(step) && systemClock.now() < end) {
      await sleep(systemClock, 300);
      answers = await typed(step, real, ours);
    }
    const [wanted, seen] = answers;
    if (wanted !== seen) differences.push({ command: step.command, wanted, seen });
  }
  return differences;
}

function typed(step: Step, real: Shell, ours: Shell): Promise<[string, string]> {
  return Promise.all([real.run(step), ours.run(step)]);
}

/** For a reader: each command, and the lines that only one of the two has. */
export function describeDifferences(differences: readonly Difference[]): string {
  return differences.map(describe).join("\n\n");
}

function describe({ command, wanted, seen }: Difference): string {
  const [left, right] = [wanted.split("\n"), seen.split("\n")];
  const missing = without(left, right).map((line) => `  - ${line}`);
  const surplus = without(right, left).map((line) => `  + ${line}`);
  const lines = [...missing, ...surplus];
  return `$ ${command}\n${lines.length === 0 ? `  another order:\n${indented(wanted)}\n  became\n${indented(seen)}` : lines.join("\n")}`;
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}

/** The lines of one that the other lacks, each as often as it does. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}
