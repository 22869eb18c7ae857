import { borderExplanations } from "./border-explanations.ts";
import type { Explanation } from "./explanations.ts";
import { networkExplanations } from "./network-explanations.ts";
import { simulatedSpecs } from "./simulated-specs.ts";
import type { ConformanceTarget } from "./target.ts";

/** Which specs of the end-to-end suite judge what. */
export interface Suite {
  readonly title: string;
  /** Regular expressions in the syntax of Go, on the full names of specs. */
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  /** Names of specs that Kubernetes' own is known to pass, if it is not all; else a recorded result says which. */
  readonly passed?: readonly string[] | "all";
  /** What it judges unless told otherwise. */
  readonly target: ConformanceTarget;
  /** Whether containers have to run, which takes root; else nodes are simulated. */
  readonly containers: boolean;
  /** How many nodes unless told otherwise; behind a border, of each site that has any. */
  readonly nodes: number;
  /** Where packets are what is judged: links join the sites of a border, and images have programs that send them. */
  readonly network?: true;
  /** Whether Kubernetes' own is judged beside it unless told otherwise. */
  readonly compares?: boolean;
  /** Why specs cannot pass on the target that pass on Kubernetes' own. */
  readonly explanations?: readonly Explanation[];
}

export const suites: Readonly<Record<string, Suite>> = {
  node: {
    title: "conformance specs of [sig-node] and of the [sig-storage] volumes that a pod has without a driver",
    focus: [
      String.raw`\[sig-node\].*\[Conformance\]`,
      String.raw`\[sig-storage\] (ConfigMap|Downward API volume|EmptyDir|Projected|Secrets|Subpath).*\[Conformance\]`,
    ],
    skip: [],
    target: "fjord",
    containers: true,
    nodes: 1,
  },
  "node-extended": {
    title: "specs of the same groups that every node should pass, and that conformance does not ask for",
    focus: [
      String.raw`\[sig-node\].*\[NodeConformance\]`,
      String.raw`\[sig-storage\] (ConfigMap|Downward API volume|EmptyDir|HostPath|Projected|Secrets).*\[NodeConformance\]`,
    ],
    // To see that something never happens, slow ones wait for five minutes, or for the longest back-off. There is no
    // registry to pull from.
    skip: [String.raw`\[Conformance\]`, String.raw`\[Slow\]`, "should be able to pull"],
    target: "fjord",
    containers: true,
    nodes: 1,
  },
  offload: {
    title: "conformance specs of [sig-node], [sig-apps] and of pods' own volumes, on nodes that stand for another site",
    focus: [
      String.raw`\[sig-(node|apps)\].*\[Conformance\]`,
      String.raw`\[sig-storage\] (ConfigMap|Downward API volume|EmptyDir|Projected|Secrets|Subpath).*\[Conformance\]`,
    ],
    skip: [],
    target: "border",
    containers: true,
    nodes: 1,
    compares: true,
    explanations: borderExplanations,
  },
  network: {
    title: "conformance specs of [sig-network], on nodes that stand for two other sites whose ranges are the same",
    focus: [String.raw`\[sig-network\].*\[Conformance\]`],
    skip: [],
    target: "border",
    containers: true,
    nodes: 1,
    network: true,
    compares: true,
    explanations: networkExplanations,
  },
  "microkube-simulated": {
    title: "conformance specs that a control plane passes with simulated nodes",
    focus: [exactly(simulatedSpecs)],
    skip: [],
    passed: simulatedSpecs,
    target: "microkube",
    containers: false,
    nodes: 3,
  },
  "microkube-containers": {
    title: "the other conformance specs that judge a control plane, and need containers that run",
    focus: [String.raw`\[sig-(api-machinery|apps|architecture|auth|cli|instrumentation|scheduling)\].*\[Conformance\]`],
    skip: [exactly(simulatedSpecs)],
    // That is what makes them conformance specs.
    passed: "all",
    target: "microkube",
    containers: true,
    // Some ask for two.
    nodes: 2,
  },
};

/** Suites that are run one after the other under one name. */
const series: Readonly<Record<string, readonly string[]>> = {
  microkube: ["microkube-simulated", "microkube-containers"],
};

export const suiteNames: readonly string[] = [...Object.keys(suites), ...Object.keys(series)];

/** What is run for a name, in order; undefined where there is nothing of that name. */
export function suitesOf(name: string): readonly { readonly name: string; readonly suite: Suite }[] | undefined {
  const parts = (series[name] ?? [name]).map((part) => ({ name: part, suite: suites[part] }));
  return parts.every((part): part is { name: string; suite: Suite } => part.suite !== undefined) ? parts : undefined;
}

/** A pattern that matches exactly the specs with these names. Ginkgo puts the suite's own name before them. */
export function exactly(names: readonly string[]): string {
  return `(^| )(${names.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join("|")})$`;
}
