import type { Node } from "@fjord/kube";
import { TaintInvalid } from "./errors.ts";

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];

/** Reads `key=value:effect` and `key:effect`. */
export function parseTaint(text: string): Taint {
  const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
  if (match === null) throw new TaintInvalid({ taint: text, reason: "it is not of the form key=value:effect" });
  const [, key = "", value, effect] = match;
  return { key, effect: effect as Taint["effect"], ...(value !== undefined && { value }) };
}
