import { apiVersion, CONSUMER_LABEL, ORIGIN_UID_LABEL, type ShadowPod } from "@fjord/api";
import type { Pod } from "@fjord/kube";

/** On a guest's pod: the contract that it was admitted under, whatever the shadow pod says later. */
export const CONTRACT_ANNOTATION = "fjord.dev/contract";
/** On a guest's pod: generation of the shadow pod that it was last made like. */
export const GENERATION_ANNOTATION = "fjord.dev/shadow-generation";

/** Annotations that forging may set in the consumer's name; all others of ours are set here. */
const carried = ["fjord.dev/origin-namespace", "fjord.dev/origin-uid"];

type PodSpec = NonNullable<Pod["spec"]>;

/** The spec that a shadow pod asks for. Whatever it is, the provider's API checks it like any other. */
export function wantedSpec({ spec }: ShadowPod): PodSpec {
  return spec.pod.spec as unknown as PodSpec;
}

/** The pod that a shadow pod becomes: of the same name, and owned by it. */
export function guestPod(shadow: ShadowPod, consumer: string): Pod {
  const { name = "", namespace = "", uid = "" } = shadow.metadata;
  // Ephemeral containers cannot be part of a new pod: they are added once it is there.
  const { ephemeralContainers: _ephemeralContainers, ...spec } = wantedSpec(shadow);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: guestLabels(shadow, consumer),
      annotations: guestAnnotations(shadow),
      ownerReferences: [{ apiVersion, kind: "ShadowPod", name, uid, controller: true, blockOwnerDeletion: false }],
    },
    spec: { ...spec, serviceAccountName: "default", automountServiceAccountToken: false },
  };
}

export function guestLabels({ spec }: ShadowPod, consumer: string): Record<string, string> {
  return { ...foreign(spec.pod.metadata?.labels), [CONSUMER_LABEL]: consumer, [ORIGIN_UID_LABEL]: spec.originUid };
}

export function guestAnnotations({ spec, metadata }: ShadowPod, contract = spec.contract): Record<string, string> {
  return {
    ...foreign(spec.pod.metadata?.annotations),
    [CONTRACT_ANNOTATION]: contract,
    [GENERATION_ANNOTATION]: String(metadata.generation ?? 1),
  };
}

/** Whether the pod was made of this very shadow pod. */
export function isGuestOf(pod: Pod, shadow: ShadowPod): boolean {
  return ownerOf(pod)?.uid === shadow.metadata.uid;
}

/** The shadow pod that a pod was made of. */
export function ownerOf({ metadata }: Pod): { readonly name: string; readonly uid: string } | undefined {
  return metadata.ownerReferences?.find(
    (owner) => owner.controller === true && owner.kind === "ShadowPod" && owner.apiVersion === apiVersion,
  );
}

function foreign(all: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => !name.startsWith("fjord.dev/") || carried.includes(name)),
  );
}
