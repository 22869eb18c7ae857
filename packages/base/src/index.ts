export * from "./abort.ts";
export * from "./backoff.ts";
export * from "./clock.ts";
export * from "./errors.ts";
export * from "./kube-object.ts";
export * from "./logger.ts";
export * from "./random.ts";
