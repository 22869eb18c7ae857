import { ORIGIN_NAMESPACE_ANNOTATION } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { type Container, type ForgeContext, type Mutator, mapContainers, type Volume } from "./forge-context.ts";
import { annotationTravels } from "./metadata.ts";

/** On a forged pod: uid of the consumer's pod, for volumes of the downward API. */
export const ORIGIN_UID_ANNOTATION = "fjord.dev/origin-uid";

type EnvVar = NonNullable<Container["env"]>[number];

/** What a pod sees of itself through the downward API is what it is at home. */
export const keepDownward: Mutator = (template, pod, context) => {
  const spec = mapContainers(template.spec, (container) =>
    container.env === undefined
      ? container
      : { ...container, env: container.env.map((variable) => literal(variable, pod, context)) },
  );
  const wanted = new Map<string, string>();
  const volumes = spec.volumes?.map((volume) => redirected(volume, pod, wanted));
  return {
    ...template,
    annotations: { ...template.annotations, ...Object.fromEntries(wanted) },
    spec: { ...spec, ...(volumes && { volumes }) },
  };
};

function literal(variable: EnvVar, pod: Pod, context: ForgeContext): EnvVar {
  const path = variable.valueFrom?.fieldRef?.fieldPath;
  const value = path === undefined ? undefined : homeValue(path, pod, context);
  return value === undefined ? variable : { name: variable.name, value };
}

/** What differs at the provider, as it is at home; undefined for what is the same there. */
function homeValue(path: string, { metadata, spec }: Pod, { hostIP }: ForgeContext): string | undefined {
  switch (path) {
    case "metadata.namespace":
      return metadata.namespace;
    case "metadata.uid":
      return metadata.uid;
    case "spec.nodeName":
      return spec?.nodeName;
    case "spec.serviceAccountName":
      return spec?.serviceAccountName ?? "default";
    case "status.hostIP":
    case "status.hostIPs":
      return hostIP;
    default: {
      const name = /^metadata\.annotations\['(.+)'\]$/.exec(path)?.[1];
      return name === undefined || annotationTravels(name) ? undefined : metadata.annotations?.[name];
    }
  }
}

interface DownwardFile {
  fieldRef?: { fieldPath: string; apiVersion?: string };
}

/** Files cannot be literals: they are made of annotations that the pod gets for them. */
function redirected(volume: Volume, pod: Pod, wanted: Map<string, string>): Volume {
  const change = <T extends DownwardFile>(item: T): T => redirectedItem(item, pod, wanted);
  if (volume.downwardAPI?.items) {
    return { ...volume, downwardAPI: { ...volume.downwardAPI, items: volume.downwardAPI.items.map(change) } };
  }
  if (volume.projected?.sources?.some(({ downwardAPI }) => downwardAPI?.items !== undefined)) {
    const sources = volume.projected.sources.map((source) =>
      source.downwardAPI?.items === undefined
        ? source
        : { ...source, downwardAPI: { ...source.downwardAPI, items: source.downwardAPI.items.map(change) } },
    );
    return { ...volume, projected: { ...volume.projected, sources } };
  }
  return volume;
}

function redirectedItem<T extends DownwardFile>(item: T, { metadata }: Pod, wanted: Map<string, string>): T {
  const [annotation, value] =
    item.fieldRef?.fieldPath === "metadata.namespace"
      ? [ORIGIN_NAMESPACE_ANNOTATION, metadata.namespace]
      : item.fieldRef?.fieldPath === "metadata.uid"
        ? [ORIGIN_UID_ANNOTATION, metadata.uid]
        : [undefined, undefined];
  if (annotation === undefined || value === undefined) return item;
  wanted.set(annotation, value);
  return { ...item, fieldRef: { ...item.fieldRef, fieldPath: `metadata.annotations['${annotation}']` } };
}
