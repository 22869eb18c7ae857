import { type LabelSelector, matchesSelector, type PodDisruptionBudget } from "@fjord/kube";
import { describe, filterFor, type SchedulingFailure } from "./choose-node.ts";
import type { NodeFacts } from "./node-facts.ts";
import { refused } from "./plugin.ts";
import type { Plugins } from "./plugins/index.ts";
import type { PodFacts } from "./pod-facts.ts";
import { type Snapshot, withNode } from "./snapshot.ts";

export type Preemption =
  | { readonly node: NodeFacts; readonly victims: readonly PodFacts[] }
  | { readonly node?: undefined; readonly message: string };

interface Candidate {
  readonly node: NodeFacts;
  readonly victims: readonly PodFacts[];
  /** How many of them their disruption budgets would keep. */
  readonly violations: number;
}

const none = refused("No preemption victims found for incoming pod", false);
const useless = refused("Preemption is not helpful for scheduling", true);

/** Which pods of lesser priority would have to go, and where, for the pod to fit: as few and as unimportant as can be. */
export function preempt(
  pod: PodFacts,
  snapshot: Snapshot,
  failure: SchedulingFailure,
  { plugins, budgets }: { plugins: Plugins; budgets: readonly PodDisruptionBudget[] },
): Preemption {
  const { nodes } = snapshot;
  if (pod.pod.spec?.preemptionPolicy === "Never") {
    return { message: "not eligible due to preemptionPolicy=Never." };
  }
  const candidates: Candidate[] = [];
  const reasons = nodes.map((node) => {
    if (failure.refusals.get(node.name)?.isFinal !== false) return useless;
    const candidate = victimsOn(node, pod, snapshot, plugins, budgets);
    if (candidate !== undefined) candidates.push(candidate);
    return none;
  });
  const chosen = candidates.sort(compare)[0];
  return chosen ?? { message: describe(nodes.length, reasons) };
}

function victimsOn(
  node: NodeFacts,
  pod: PodFacts,
  snapshot: Snapshot,
  plugins: Plugins,
  budgets: readonly PodDisruptionBudget[],
): Candidate | undefined {
  const lesser = [...node.pods].filter(({ priority }) => priority < pod.priority);
  if (lesser.length === 0) return undefined;
  const trial = node.copy();
  const changed = withNode(snapshot, trial);
  const fits = () => {
    const filter = filterFor(pod, changed, plugins);
    return typeof filter === "function" && filter(trial) === undefined;
  };
  for (const { uid } of lesser) trial.remove(uid);
  if (!fits()) return undefined;
  const protectedPods = violating(lesser, budgets);
  const important = lesser.sort((a, b) => b.priority - a.priority || startOf(a) - startOf(b));
  const order = [
    ...important.filter((one) => protectedPods.has(one)),
    ...important.filter((one) => !protectedPods.has(one)),
  ];
  const victims = order.filter((one) => {
    trial.add(one);
    if (fits()) return false;
    trial.remove(one.uid);
    return true;
  });
  if (victims.length === 0) return undefined;
  return { node, victims, violations: victims.filter((victim) => protectedPods.has(victim)).length };
}

/** Those whose going their budgets would no longer allow, taken one after the other. */
function violating(pods: readonly PodFacts[], budgets: readonly PodDisruptionBudget[]): Set<PodFacts> {
  const left = budgets.map((budget) => ({ budget, allowed: budget.status?.disruptionsAllowed ?? 0 }));
  const violations = new Set<PodFacts>();
  for (const pod of pods) {
    for (const entry of left) {
      const { metadata, spec, status } = entry.budget;
      if (metadata.namespace !== pod.namespace || spec?.selector === undefined) continue;
      if (!matchesSelector(spec.selector as LabelSelector, pod.labels)) continue;
      if (status?.disruptedPods?.[pod.name] !== undefined) continue;
      entry.allowed--;
      if (entry.allowed < 0) violations.add(pod);
    }
  }
  return violations;
}

function compare(a: Candidate, b: Candidate): number {
  const highest = ({ victims }: Candidate) => Math.max(...victims.map(({ priority }) => priority));
  const sum = ({ victims }: Candidate) => victims.reduce((all, { priority }) => all + priority + 2 ** 31, 0);
  const latest = ({ victims }: Candidate) => Math.min(...victims.map(startOf));
  return (
    a.violations - b.violations ||
    highest(a) - highest(b) ||
    sum(a) - sum(b) ||
    a.victims.length - b.victims.length ||
    latest(b) - latest(a)
  );
}

function startOf({ pod }: PodFacts): number {
  return Date.parse(pod.status?.startTime ?? pod.metadata.creationTimestamp ?? "") || 0;
}
