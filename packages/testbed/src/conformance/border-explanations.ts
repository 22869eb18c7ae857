import type { Explanation } from "./explanations.ts";

/** What asks about the node itself, which is another site, or for what leaves a site only where it is asked for. */
export const borderExplanations: readonly Explanation[] = [
  {
    specs: /StatefulSet .* Should recreate evicted statefulset /,
    why: "it asks about the node: one pod has a port of it, and another that names the node and asks for the same port is to be rejected there; behind a virtual node there are many, and the guest waits for one whose port is free",
  },
  {
    specs: /PreStop should call prestop when killing a pod /,
    why: "its server is a client of the cluster's API by the token that pods at home have unasked, and ends without; over a border tokens go with pods that ask for them alone (fjord.dev/home-api)",
  },
];
