/** The API group and version of all of Fjord's kinds. */
export const group = "fjord.dev";
export const version = "v1alpha1";
export const apiVersion = `${group}/${version}` as const;

/** The category that `kubectl get fjord` lists. */
export const category = "fjord";
