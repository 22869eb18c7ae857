import type { Pod } from "@fjord/kube";

/** What the pod asks for that no other site can give it; empty for a pod that can go. */
export function offloadRefusals({ spec }: Pod): string[] {
  const refusals: string[] = [];
  if (spec?.hostNetwork) refusals.push("it asks for the network of its node (hostNetwork)");
  if (spec?.hostPID) refusals.push("it asks for the processes of its node (hostPID)");
  if (spec?.hostIPC) refusals.push("it asks for the IPC of its node (hostIPC)");
  if ((spec?.resourceClaims?.length ?? 0) > 0) refusals.push("it claims devices of its node (resourceClaims)");
  return refusals;
}
