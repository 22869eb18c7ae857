export { CarriedParties } from "./carried-parties.ts";
export { ConnectRoute } from "./connect-route.ts";
export { isOnLoopback, ProxiedAddresses } from "./proxied-addresses.ts";
export { ProxyController } from "./proxy-controller.ts";
export { noProxyMetrics, type ProxyMetrics } from "./proxy-metrics.ts";
export { SharedNamespaces } from "./shared-namespaces.ts";
export { StandIns } from "./stand-ins.ts";
