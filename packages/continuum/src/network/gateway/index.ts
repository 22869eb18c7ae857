export { CAPTURE_PATH, type CaptureRouteOptions, captureRoute } from "../capture/capture-route.ts";
export { Captures, type CapturesOptions } from "../capture/captures.ts";
export { CaptureDenied } from "../capture/errors.ts";
export { InvalidNetworkState } from "../fabric/errors.ts";
export { GatewayObjects, type GatewayObjectsOptions, type GatewayPlace } from "../gateway-objects.ts";
export { PROBE_PORT } from "../link-address.ts";
export { LINK_SECRET } from "../link-key.ts";
export type { NetworkState } from "../network-state.ts";
export { Fence, type FenceOptions, type Heir } from "./fence.ts";
export { Gateway, type GatewayOptions } from "./gateway.ts";
export {
  GatewayLoop,
  type GatewayLoopOptions,
  type GatewaySource,
  type NodeWish,
  type SeenReport,
} from "./gateway-loop.ts";
export { GatewayMetrics, type GatewayMetricsOptions } from "./gateway-metrics.ts";
export { GATEWAY_LEASE, GatewayRole, type GatewayRoleOptions } from "./gateway-role.ts";
export { LinkProbe, type LinkProbeOptions, type OpenProbeSocket } from "./link-probe.ts";
export type { LinkReport } from "./link-report.ts";
export { NodeNetwork, type NodeNetworkOptions } from "./node-network.ts";
export { NodeWatch, type NodeWatchOptions } from "./node-watch.ts";
export { NodeWay, type NodeWayOptions } from "./node-way.ts";
export { OwnKey, type OwnKeyOptions } from "./own-key.ts";
export { openUdpProbe } from "./udp-probe.ts";
export type { WireguardCarrier, WireguardChoice } from "./wireguard-devices.ts";
export { WireguardSocket } from "./wireguard-socket.ts";
