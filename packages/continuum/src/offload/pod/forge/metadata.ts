import type { Mutator } from "./forge-context.ts";

/** Annotations that the cluster's own machinery keeps on pods: of no meaning elsewhere, and nobody else's business. */
const ownMachinery = [
  "kubectl.kubernetes.io/last-applied-configuration",
  "kubernetes.io/config.hash",
  "kubernetes.io/config.mirror",
  "kubernetes.io/config.seen",
  "kubernetes.io/config.source",
  "kubernetes.io/limit-ranger",
  "kubernetes.io/psp",
  "k8s.v1.cni.cncf.io/network-status",
  "k8s.v1.cni.cncf.io/networks-status",
  "controller.kubernetes.io/pod-deletion-cost",
];

const ownPrefixes = ["fjord.dev/", "cluster-autoscaler.kubernetes.io/", "cni.projectcalico.org/", "k8s.ovn.org/"];

/** Whether an annotation goes with the pod. */
export function annotationTravels(name: string): boolean {
  return !ownMachinery.includes(name) && !ownPrefixes.some((prefix) => name.startsWith(prefix));
}

export function labelTravels(name: string): boolean {
  return !name.startsWith("fjord.dev/");
}

/** Labels and annotations go with the pod, but for those of the cluster's own machinery. */
export const carryMetadata: Mutator = (template, { metadata }) => ({
  ...template,
  labels: pick(metadata.labels, labelTravels),
  annotations: pick(metadata.annotations, annotationTravels),
});

function pick(all: Readonly<Record<string, string>> = {}, travels: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => travels(name)));
}
