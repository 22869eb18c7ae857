export { ApiPodSource, type ApiPodSourceOptions } from "./api-pod-source.ts";
export type { PodSource } from "./pod-source.ts";
