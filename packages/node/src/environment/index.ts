export * from "./environment.ts";
export * from "./errors.ts";
export * from "./expansion.ts";
export * from "./pod-containers.ts";
export * from "./pod-field.ts";
export * from "./resource-field.ts";
export * from "./service-links.ts";
