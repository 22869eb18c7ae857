import type { Node, Pod } from "@fjord/kube";

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];
export type Toleration = NonNullable<NonNullable<Pod["spec"]>["tolerations"]>[number];

export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const effect: string = toleration.effect ?? "";
  if (effect !== "" && effect !== taint.effect) return false;
  const { key = "", operator = "Equal", value = "" } = toleration;
  if (key !== "" && key !== taint.key) return false;
  const actual = taint.value ?? "";
  if (operator === "Exists") return true;
  if (operator === "Equal") return key !== "" && value === actual;
  if (!/^-?\d+$/.test(actual) || !/^-?\d+$/.test(value)) return false;
  return operator === "Gt" ? BigInt(actual) > BigInt(value) : operator === "Lt" && BigInt(actual) < BigInt(value);
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return tolerations.some((toleration) => tolerates(toleration, taint));
}
