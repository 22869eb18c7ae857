import type { KubeObject } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { Cluster } from "../cluster.ts";
import { typeOf } from "../cluster-objects.ts";

interface KnownPod {
  readonly node: string;
  readonly references: readonly string[];
}

/** What the pods on each node refer to: that much of the cluster a kubelet may read. */
export class NodeReferences {
  readonly #cluster: Cluster;
  /** By `namespace/name`. */
  readonly #pods = new Map<string, KnownPod>();
  /** By node: how many of its pods need what. */
  readonly #nodes = new Map<string, Map<string, number>>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  follow(): () => void {
    return this.#cluster.follow(typeOf(this.#cluster, "", "Pod"), ({ type, object }) => {
      if (type === "DELETED") this.#forget(keyOf(object));
      else this.#learn(object as Pod);
    });
  }

  /** `what` as `reference` writes it. */
  has(node: string, what: string): boolean {
    return this.#nodes.get(node)?.has(what) ?? false;
  }

  /** All that the node's pods refer to. */
  of(node: string): Iterable<string> {
    return this.#nodes.get(node)?.keys() ?? [];
  }

  #learn(pod: Pod): void {
    const node = pod.spec?.nodeName ?? "";
    if (node === "") return;
    const key = keyOf(pod);
    const known = this.#pods.get(key);
    // A pod stays where it is, and what it refers to changes only by ephemeral containers.
    if (known?.node === node && !pod.spec?.ephemeralContainers?.length) return;
    this.#forget(key);
    const references = podReferences(pod);
    this.#pods.set(key, { node, references });
    const counts = this.#nodes.get(node) ?? new Map<string, number>();
    this.#nodes.set(node, counts);
    for (const one of references) counts.set(one, (counts.get(one) ?? 0) + 1);
  }

  #forget(key: string): void {
    const known = this.#pods.get(key);
    if (known === undefined) return;
    this.#pods.delete(key);
    const counts = this.#nodes.get(known.node);
    for (const one of known.references) {
      const left = (counts?.get(one) ?? 1) - 1;
      if (left > 0) counts?.set(one, left);
      else counts?.delete(one);
    }
    if (counts?.size === 0) this.#nodes.delete(known.node);
  }
}

const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace ?? ""}/${metadata.name}`;

export type ReferredKind = "pod" | "secret" | "configmap" | "serviceaccount" | "claim" | "resourceclaim";

export const reference = (kind: ReferredKind, namespace: string, name: string) => `${kind} ${namespace}/${name}`;

/** Everything that a kubelet needs of the API to run the pod, the pod included. */
export function podReferences(pod: Pod): string[] {
  const { namespace = "", name = "", annotations = {} } = pod.metadata;
  const all = new Set([reference("pod", namespace, name)]);
  // A kubelet could make a mirror pod for whatever it wants to read.
  if (annotations["kubernetes.io/config.mirror"] !== undefined) return [...all];
  const add = (kind: ReferredKind, of: string | undefined) => {
    if (of) all.add(reference(kind, namespace, of));
  };
  const { spec } = pod;
  add("serviceaccount", spec?.serviceAccountName);
  for (const secret of spec?.imagePullSecrets ?? []) add("secret", secret.name);
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  for (const { env = [], envFrom = [] } of containers) {
    for (const { valueFrom } of env) {
      add("secret", valueFrom?.secretKeyRef?.name);
      add("configmap", valueFrom?.configMapKeyRef?.name);
    }
    for (const { secretRef, configMapRef } of envFrom) {
      add("secret", secretRef?.name);
      add("configmap", configMapRef?.name);
    }
  }
  for (const volume of spec?.volumes ?? []) addVolume(volume, name, add);
  for (const claim of spec?.resourceClaims ?? []) {
    const made = pod.status?.resourceClaimStatuses?.find((status) => status.name === claim.name)?.resourceClaimName;
    add("resourceclaim", claim.resourceClaimName ?? made);
  }
  return [...all];
}

type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];

function addVolume(volume: Volume, podName: string, add: (kind: ReferredKind, name: string | undefined) => void): void {
  add("secret", volume.secret?.secretName);
  add("configmap", volume.configMap?.name);
  for (const { secret, configMap } of volume.projected?.sources ?? []) {
    add("secret", secret?.name);
    add("configmap", configMap?.name);
  }
  add("claim", volume.persistentVolumeClaim?.claimName);
  if (volume.ephemeral) add("claim", `${podName}-${volume.name}`);
  add("secret", volume.azureFile?.secretName);
  add("secret", volume.csi?.nodePublishSecretRef?.name);
  for (const source of [volume.cephfs, volume.flexVolume, volume.rbd, volume.scaleIO, volume.iscsi, volume.storageos]) {
    add("secret", source?.secretRef?.name);
  }
}
