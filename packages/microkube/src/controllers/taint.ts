import type { Node, Pod } from "@fjord/kube";

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];
export type Toleration = NonNullable<NonNullable<Pod["spec"]>["tolerations"]>[number];

/** Whether a pod bears a taint. */
export function tolerates({ key, operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === "Exists") return true;
  if (!key) return false;
  const own = taint.value ?? "";
  if (operator === "Gt" || operator === "Lt") {
    if (!/^-?\d+$/.test(own) || !/^-?\d+$/.test(value)) return false;
    return operator === "Gt" ? Number(own) > Number(value) : Number(own) < Number(value);
  }
  return value === own;
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[] = []): boolean {
  return tolerations.some((toleration) => tolerates(toleration, taint));
}

/** How long a pod bears all these taints: for ever, not at all (0), or so many seconds. */
export function toleratedSeconds(
  taints: readonly Taint[],
  tolerations: readonly Toleration[] = [],
): number | undefined {
  let least: number | undefined;
  for (const taint of taints) {
    const matching = tolerations.filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return 0;
    for (const { tolerationSeconds } of matching) {
      if (tolerationSeconds === undefined || tolerationSeconds === null) continue;
      least = Math.min(least ?? Number.POSITIVE_INFINITY, Math.max(0, tolerationSeconds));
    }
  }
  return least;
}
