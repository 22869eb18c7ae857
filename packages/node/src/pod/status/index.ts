export {
  amountsOf,
  podLimits,
  podRequests,
  qosClass,
  quantitiesOf,
  type ResourceAmounts,
} from "@fjord/kube";
export {
  type ContainerStatus,
  containersOf,
  isTerminal,
  type PodCondition,
  type PodStatus,
} from "../pod-containers.ts";
export { podAddresses, podStatus } from "./pod-status.ts";
export type { StatusInput } from "./status-input.ts";
export { StatusWriter, type StatusWriterOptions } from "./status-writer.ts";
