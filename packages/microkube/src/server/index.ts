export { ApiServer, type ApiServerOptions, type ExtraHandler } from "./api-server.ts";
export { Discovery, type GroupDescription } from "./discovery.ts";
export { Exchange } from "./exchange.ts";
export { Health, type HealthCheck } from "./health.ts";
export { attributesOf, isResource, type ResourceTarget, type Target } from "./request-target.ts";
export { pathNotFound, ResourceHandler, type ResourceHandlerOptions } from "./resource-handler.ts";
export { ServerMetrics } from "./server-metrics.ts";
export { KUBERNETES_VERSION, versionInfo } from "./version.ts";
