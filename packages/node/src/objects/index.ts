export { ApiPodObjects, type ApiPodObjectsOptions } from "./api-pod-objects.ts";
export * from "./errors.ts";
export type { BoundToken, PodObjects, TokenRequestSpec } from "./pod-objects.ts";
export { podReferences } from "./pod-references.ts";
