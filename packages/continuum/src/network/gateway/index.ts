export { InvalidNetworkState } from "../fabric/errors.ts";
export { GatewayObjects, type GatewayObjectsOptions } from "../gateway-objects.ts";
export type { NetworkState } from "../network-state.ts";
export { Gateway, type GatewayOptions, type LinkReport } from "./gateway.ts";
export { GatewayLoop, type GatewayLoopOptions, type GatewaySource } from "./gateway-loop.ts";
export { NodeNetwork, type NodeNetworkOptions } from "./node-network.ts";
