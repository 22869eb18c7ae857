export { KnownTwins } from "./known-twins.ts";
export { OffloadingController, type OffloadingControllerOptions } from "./offloading-controller.ts";
export { OffloadingRuleController, type OffloadingRuleControllerOptions } from "./offloading-rule-controller.ts";
export { TwinNamespaceController, type TwinNamespaceControllerOptions } from "./twin-namespace-controller.ts";
