export * from "./access.ts";
export type * from "./backend.ts";
export * from "./errors.ts";
export { Guard, type GuardOptions } from "./guard.ts";
export {
  KubeletServer,
  type KubeletServerLimits,
  type KubeletServerOptions,
  type ServingTls,
} from "./kubelet-server.ts";
export { ApiReviewer, type Reviewer } from "./reviewer.ts";
export type * from "./summary.ts";
