import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "@fjord/kube";
import type { NodeFacts } from "./node-facts.ts";

/** What is known of volumes. */
export interface Volumes {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  /** All that could be bound. */
  volumes(): Iterable<PersistentVolume>;
  storageClass(name: string): StorageClass | undefined;
}

/** The cluster as one decision sees it. */
export interface Snapshot {
  readonly nodes: readonly NodeFacts[];
  namespaceLabels(namespace: string): Readonly<Record<string, string>>;
  readonly volumes: Volumes;
}

/** The same cluster with one node exchanged. */
export function withNode(snapshot: Snapshot, node: NodeFacts): Snapshot {
  const nodes = snapshot.nodes.map((one) => (one.name === node.name ? node : one));
  return { ...snapshot, nodes, namespaceLabels: (name) => snapshot.namespaceLabels(name) };
}
