import type { KubeObject } from "@fjord/base";

/**
 * On a Service, an Ingress or a PersistentVolumeClaim: the class that its twins are to have. Classes of the own cluster mean
 * nothing elsewhere, so that without it the provider's default is used.
 */
export const CLASS_ANNOTATION = "fjord.dev/remote-class";

export function classAt({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[CLASS_ANNOTATION] || undefined;
}
