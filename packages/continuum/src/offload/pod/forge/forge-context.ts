import type { VirtualNode } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import type { SiteId } from "../../../site-identity.ts";

export type PodSpec = NonNullable<Pod["spec"]>;
export type Container = PodSpec["containers"][number];
export type Volume = NonNullable<PodSpec["volumes"]>[number];
export type PodPatch = NonNullable<VirtualNode["spec"]["podPatch"]>;

/** What must be known beside the pod to forge its shadow. */
export interface ForgeContext {
  /** Id of the own site. */
  readonly consumer: SiteId;
  /** Name of the contract that the pod counts against. */
  readonly contract: string;
  readonly twinNamespace: string;
  /** Address of the virtual node, which containers are told instead of the provider's. */
  readonly hostIP?: string;
  readonly podPatch?: PodPatch;
  /** Where containers with a token of the home API find it; absent: they are told nothing. */
  readonly homeApi?: { readonly host: string; readonly port: string };
}

/** What the provider is to run: labels, annotations and a spec. */
export interface PodTemplate {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

/** One step of forging: pure, and the same each time for the same pod. */
export type Mutator = (template: PodTemplate, pod: Pod, context: ForgeContext) => PodTemplate;

/** The spec with each of its containers changed, init and ephemeral ones included. */
export function mapContainers(spec: PodSpec, change: (container: Container) => Container): PodSpec {
  const { initContainers, containers, ephemeralContainers } = spec;
  return {
    ...spec,
    ...(initContainers && { initContainers: initContainers.map(change) }),
    containers: containers.map(change),
    ...(ephemeralContainers && {
      ephemeralContainers: ephemeralContainers.map((each) => ({ ...each, ...change(each as Container) })),
    }),
  };
}
