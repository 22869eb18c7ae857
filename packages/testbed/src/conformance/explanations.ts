/** Why specs cannot pass where they are judged, though Kubernetes' own passes them. */
export interface Explanation {
  /** On the full names of specs. */
  readonly specs: RegExp;
  readonly why: string;
}

export interface Explained {
  readonly spec: string;
  /** Absent where nobody knows: then it is a fault. */
  readonly why?: string;
}

/** Each spec with the first explanation that is about it. */
export function explain(specs: readonly string[], explanations: readonly Explanation[]): Explained[] {
  return specs.map((spec) => {
    const why = explanations.find((each) => each.specs.test(spec))?.why;
    return { spec, ...(why !== undefined && { why }) };
  });
}
