import { CONSUMER_LABEL, ORIGIN_UID_LABEL, type ShadowPod } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { GENERATION_ANNOTATION } from "../generation-annotation.ts";

/** On a guest's pod: the contract that it was admitted under, whatever the shadow pod says later. */
export const CONTRACT_ANNOTATION = "fjord.dev/contract";
/** On a guest's pod: uid of the shadow pod that it was made of. */
export const SHADOW_UID_ANNOTATION = "fjord.dev/shadow-uid";

/** Annotations that forging may set in the consumer's name; all others of ours are set here. */
const carried = ["fjord.dev/origin-namespace", "fjord.dev/origin-uid"];

type PodSpec = NonNullable<Pod["spec"]>;

/** The spec that a shadow pod asks for. Whatever it is, the provider's API checks it like any other. */
export function wantedSpec({ spec }: ShadowPod): PodSpec {
  return spec.pod.spec as unknown as PodSpec;
}

/** Whose a twin namespace is, and which it is. */
export interface TwinNamespace {
  readonly consumer: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * The pod that a shadow pod becomes: of the same name, and controlled by their namespace. Were the shadow pod its owner,
 * the garbage collector would ask about each of the two and delete the pod a second time, at four requests a pod.
 */
export function guestPod(shadow: ShadowPod, twin: TwinNamespace): Pod {
  const { name = "", namespace = "" } = shadow.metadata;
  // Ephemeral containers cannot be part of a new pod: they are added once it is there.
  const { ephemeralContainers: _ephemeralContainers, serviceAccount: _serviceAccount, ...spec } = wantedSpec(shadow);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: guestLabels(shadow, twin.consumer),
      annotations: guestAnnotations(shadow),
      // A pod without a controller might be adopted by any that selects it, and could not be drained.
      ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: twin.name, uid: twin.uid, controller: true }],
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
    [SHADOW_UID_ANNOTATION]: metadata.uid ?? "",
    [GENERATION_ANNOTATION]: String(metadata.generation ?? 1),
  };
}

/** Whether the pod was made of this very shadow pod. */
export function isGuestOf(pod: Pod, { metadata }: ShadowPod): boolean {
  return metadata.uid !== undefined && shadowUidOf(pod) === metadata.uid;
}

/** Uid of the shadow pod that a pod was made of; undefined for all other pods. */
export function shadowUidOf({ metadata }: Pod): string | undefined {
  return metadata.annotations?.[SHADOW_UID_ANNOTATION];
}

/** Name of the contract that a guest was admitted under; empty where it names none. */
export function contractNameOf({ metadata }: Pod): string {
  return metadata.annotations?.[CONTRACT_ANNOTATION] ?? "";
}

function foreign(all: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => !name.startsWith("fjord.dev/") || carried.includes(name)),
  );
}

/** What a consumer wrote as its grace, as a number of seconds that a pod can have. */
export function secondsOf(text: string): number {
  const seconds = Number(text);
  return Number.isInteger(seconds) && seconds >= 0 && seconds < 2 ** 31 ? seconds : 30;
}
