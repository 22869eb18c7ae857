export * from "./errors.ts";
export * from "./jsonpath.ts";
export * from "./label-selector.ts";
export * from "./node-selection.ts";
export * from "./pod-privileges.ts";
export * from "./pod-requests.ts";
export * from "./qos-class.ts";
export * from "./quantity.ts";
