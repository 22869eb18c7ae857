import { checkNodeLabel } from "./node-labels.ts";

export interface LabelFacts {
  readonly nodeName: string;
  readonly hostname: string;
  /** In Kubernetes' words: `amd64`, `arm64`. */
  readonly architecture: string;
  readonly operatingSystem: string;
  readonly instanceType?: string;
  readonly region?: string;
  readonly zone?: string;
  /** What runs pods here by default: `cri`, `process`, `simulated`. */
  readonly runtime: string;
  /** What the operator adds; refused where a node may not set it. */
  readonly own?: Readonly<Record<string, string>>;
}

/** The labels that schedulers and people expect on every node, and the operator's. */
export function standardLabels(facts: LabelFacts): Record<string, string> {
  const { own = {}, instanceType, region, zone } = facts;
  for (const [label, value] of Object.entries(own)) checkNodeLabel(label, value);
  return {
    "kubernetes.io/arch": facts.architecture,
    "kubernetes.io/os": facts.operatingSystem,
    "kubernetes.io/hostname": facts.hostname,
    "beta.kubernetes.io/arch": facts.architecture,
    "beta.kubernetes.io/os": facts.operatingSystem,
    ...(instanceType !== undefined && { "node.kubernetes.io/instance-type": instanceType }),
    ...(region !== undefined && { "topology.kubernetes.io/region": region }),
    ...(zone !== undefined && { "topology.kubernetes.io/zone": zone }),
    "fjord.dev/runtime": facts.runtime,
    ...own,
  };
}
