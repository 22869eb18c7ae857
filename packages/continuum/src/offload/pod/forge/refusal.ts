import type { Pod } from "@fjord/kube";

const ofTheNode = { hostNetwork: "network", hostPID: "processes", hostIPC: "IPC" } as const;

/** What the pod asks for that the other site does not give it; empty for a pod that can go. */
export function offloadRefusals({ spec }: Pod, given: readonly string[] = []): string[] {
  const refusals = Object.entries(ofTheNode)
    .filter(([field]) => spec?.[field as keyof typeof ofTheNode] && !given.includes(field))
    .map(([field, what]) => `it asks for the ${what} of its node (${field})`);
  if ((spec?.resourceClaims?.length ?? 0) > 0) refusals.push("it claims devices of its node (resourceClaims)");
  return refusals;
}
