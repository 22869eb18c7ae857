import type { Explanation } from "./explanations.ts";

/** What asks about nodes themselves, which are other sites here. */
export const networkExplanations: readonly Explanation[] = [
  {
    specs: /Services .*(NodePort service|to NodePort )/,
    why: "it asks for a port of the node: nodes of a site serve these, and this one has none; a virtual node's address is the agent's, and which addresses another site's machines have is not told. The Service itself is reached by its name and address before",
  },
  {
    specs: /HostPort validates that there is no conflict between pods with same hostPort /,
    why: "it asks for ports of the node by its address: behind a virtual node there are other machines, and its address is the agent's",
  },
  {
    specs: /Granular Checks: Pods should function for node-pod communication: /,
    why: "a pod on its node's network asks all others, and half of these are at another provider: it has the machine's address, which may be anybody's there, and so it is in no group and reaches pods of its own site alone",
  },
];
