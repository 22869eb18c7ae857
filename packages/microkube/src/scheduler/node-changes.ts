import type { Node } from "@fjord/kube";

/** Whether a change of a node could let a pod in that found no place before. Heartbeats do not. */
export function nodeHelps(old: Node, node: Node): boolean {
  return aspects(old) !== aspects(node);
}

function aspects({ metadata, spec, status }: Node): string {
  return JSON.stringify([metadata.labels, spec?.taints, spec?.unschedulable, status?.allocatable]);
}
