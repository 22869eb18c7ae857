export { InvalidNetworkState } from "./fabric/errors.ts";
export { Gateway, type GatewayOptions, type LinkReport } from "./gateway/gateway.ts";
export { GatewayLoop, type GatewayLoopOptions, type GatewaySource } from "./gateway/gateway-loop.ts";
export { NodeNetwork, type NodeNetworkOptions } from "./gateway/node-network.ts";
export type { NetworkState } from "./network-state.ts";
